import { readFileSync } from 'node:fs';
import type { BlockExecutor, Json } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { SandboxError } from '@heddle/sandbox';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchNewProcesses } from '../attacks/processes.ts';
import { block, condition, fn, loop, workflow, type TestBlock } from '../support/workflow.ts';

async function openEngine(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine(options);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** Returns the ids of the processes that the test has started. */
let readNewPids: () => number[];
beforeEach(() => {
  readNewPids = watchNewProcesses();
});

/** Returns the ids of the sandbox processes of the test that run the given program. */
function findSandboxPids(program: 'child.cjs' | 'python-child.cjs'): number[] {
  return readNewPids().filter((pid) => {
    try {
      const [command = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
      return command === process.execPath && args.some((argument) => argument.endsWith(`/${program}`));
    } catch {
      return false;
    }
  });
}

const pythonBlock = (name: string, fields: { [name: string]: Json } = {}): TestBlock =>
  block(name, 'function', { code: 'return 1', language: 'python', ...fields });

/** Returns an executor of blocks of the type `wait_until`, which end when `isReached` returns true. */
const createWaitUntilExecutor = (isReached: () => boolean): BlockExecutor => ({
  types: ['wait_until'],
  class: 'effect',
  execute: async () => {
    await vi.waitFor(() => expect(isReached()).toBe(true), { timeout: 20_000 });
    return { output: {} };
  },
});

describe.runIf(process.platform === 'linux')('code of several tenants in one engine', () => {
  const codeWorkflow = (id: string): Json =>
    workflow(
      [
        condition('C', { yes: '1 < 2', no: '' }),
        loop('L', { loopType: 'while', whileCondition: '<loop.index> < 1' }, fn('F', 'return 1')),
      ],
      ['Start -> C', 'C:yes -> L -> F'],
      { id },
    );

  it('runs in separate processes: functions, conditions and loop conditions', async () => {
    const requestedWorkflowIds: string[] = [];
    const engine = await openEngine({
      sandbox: { maxProcesses: 4 },
      tenant: async (workflowId) => {
        requestedWorkflowIds.push(workflowId);
        return `tenant of ${workflowId}`;
      },
    });
    const run = async (id: string): Promise<number[]> => {
      expect(await engine.execute({ workflow: codeWorkflow(id) }, {})).toMatchObject({ status: 'completed' });
      return findSandboxPids('child.cjs');
    };
    const [firstPids, secondPids, thirdPids] = [await run('a'), await run('b'), await run('a')];
    expect([firstPids.length, secondPids.length, thirdPids.length]).toEqual([1, 2, 2]);
    // The tenant is determined once for each run, for any number of code blocks.
    expect(requestedWorkflowIds).toEqual(['a', 'b', 'a']);
  });

  it('shares processes if no tenants are configured', async () => {
    const engine = await openEngine({ sandbox: { maxProcesses: 4 } });
    for (const id of ['a', 'b'])
      expect(await engine.execute({ workflow: codeWorkflow(id) }, {})).toMatchObject({ status: 'completed' });
    expect(findSandboxPids('child.cjs')).toHaveLength(1);
  });

  it('does not run if its tenant cannot be determined', async () => {
    let isAvailable = false;
    const engine = await openEngine({
      tenant: () => {
        if (isAvailable) return 'a';
        throw new Error('The records cannot be reached.');
      },
    });
    expect(await engine.execute({ workflow: codeWorkflow('a') }, {})).toMatchObject({ status: 'failed' });
    isAvailable = true;
    expect(await engine.execute({ workflow: codeWorkflow('a') }, {})).toMatchObject({ status: 'completed' });
  });
});

describe.runIf(process.platform === 'linux')('a run whose plan has code in Python', () => {
  it('starts its process while other blocks run', async () => {
    const engine = await openEngine({
      blocks: [createWaitUntilExecutor(() => findSandboxPids('python-child.cjs').length === 1)],
    });
    const definition = workflow([block('U', 'wait_until'), pythonBlock('P')], ['Start -> U -> P']);
    expect(await engine.execute({ workflow: definition }, {})).toMatchObject({
      status: 'completed',
      output: { result: 1 },
    });
    expect(findSandboxPids('python-child.cjs')).toHaveLength(1);
  });

  it('starts processes for its images and its tenant, and none for mocked blocks', async () => {
    const requestedImageIds: string[] = [];
    const engine = await openEngine({
      blocks: [
        createWaitUntilExecutor(
          () => requestedImageIds.length === 2 && findSandboxPids('python-child.cjs').length === 1,
        ),
      ],
      images: {
        open: (id) => {
          requestedImageIds.push(id);
          return Promise.reject(new SandboxError('IMAGE_NOT_READY', 'It is being built.'));
        },
      },
      tenant: () => 'a',
    });
    const blocks = [
      block('U', 'wait_until'),
      condition('C', { yes: 'true', no: '' }),
      pythonBlock('One', { sandboxId: ' one ' }),
      pythonBlock('Two', { sandboxId: 'two' }),
      pythonBlock('Twice', { sandboxId: 'two' }),
      pythonBlock('Mocked', { sandboxId: 'three' }),
      pythonBlock('Named later', { sandboxId: '<start.image>' }),
      pythonBlock('Plain'),
    ];
    const otherEdges = ['One', 'Two', 'Twice', 'Mocked', 'Named later'].map((name) => `C:no -> ${name}`);
    const definition = workflow(blocks, ['Start -> U -> Plain -> C', ...otherEdges]);
    const mocks = { blocks: { Mocked: 1 } };
    expect(await engine.execute({ workflow: definition }, {}, { mocks })).toMatchObject({
      status: 'completed',
    });
    expect(requestedImageIds.toSorted()).toEqual(['one', 'two']);
    expect(findSandboxPids('python-child.cjs')).toHaveLength(1);
  });
});
