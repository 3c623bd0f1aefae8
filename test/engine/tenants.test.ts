import { readFileSync } from 'node:fs';
import type { BlockExecutor, Json } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { SandboxError } from '@heddle/sandbox';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { newProcesses } from '../attacks/processes.ts';
import { block, condition, fn, loop, workflow, type TestBlock } from '../support/workflow.ts';

async function open(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine(options);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** Returns the ids of the processes that the test has started. */
let startedProcesses: () => number[];
beforeEach(() => {
  startedProcesses = newProcesses();
});

/** Returns the sandbox processes of the test that run the given program. */
function sandboxes(program: 'child.cjs' | 'python-child.cjs'): number[] {
  return startedProcesses().filter((pid) => {
    try {
      const [command = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
      return command === process.execPath && args.some((argument) => argument.endsWith(`/${program}`));
    } catch {
      return false;
    }
  });
}

const python = (name: string, more: { [name: string]: Json } = {}): TestBlock =>
  block(name, 'function', { code: 'return 1', language: 'python', ...more });

/** Returns an executor of blocks that end when `condition` is true. */
const until = (condition: () => boolean): BlockExecutor => ({
  types: ['until'],
  class: 'effect',
  execute: async () => {
    await vi.waitFor(() => expect(condition()).toBe(true), { timeout: 20_000 });
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
    const requested: string[] = [];
    const engine = await open({
      sandbox: { maxProcesses: 4 },
      tenant: async (workflowId) => {
        requested.push(workflowId);
        return `tenant of ${workflowId}`;
      },
    });
    const run = async (id: string): Promise<number[]> => {
      expect(await engine.execute({ workflow: codeWorkflow(id) }, {})).toMatchObject({ status: 'completed' });
      return sandboxes('child.cjs');
    };
    const [first, second, again] = [await run('a'), await run('b'), await run('a')];
    expect([first.length, second.length, again.length]).toEqual([1, 2, 2]);
    // The tenant is determined once for each run, for any number of code blocks.
    expect(requested).toEqual(['a', 'b', 'a']);
  });

  it('shares processes if no tenants are configured', async () => {
    const engine = await open({ sandbox: { maxProcesses: 4 } });
    for (const id of ['a', 'b'])
      expect(await engine.execute({ workflow: codeWorkflow(id) }, {})).toMatchObject({ status: 'completed' });
    expect(sandboxes('child.cjs')).toHaveLength(1);
  });

  it('does not run if its tenant cannot be determined', async () => {
    let isAvailable = false;
    const engine = await open({
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
    const engine = await open({ blocks: [until(() => sandboxes('python-child.cjs').length === 1)] });
    const drawn = workflow([block('U', 'until'), python('P')], ['Start -> U -> P']);
    expect(await engine.execute({ workflow: drawn }, {})).toMatchObject({
      status: 'completed',
      output: { result: 1 },
    });
    expect(sandboxes('python-child.cjs')).toHaveLength(1);
  });

  it('starts processes for its images and its tenant, and none for mocked blocks', async () => {
    const requested: string[] = [];
    const engine = await open({
      blocks: [until(() => requested.length === 2 && sandboxes('python-child.cjs').length === 1)],
      images: {
        open: (id) => {
          requested.push(id);
          return Promise.reject(new SandboxError('IMAGE_NOT_READY', 'It is being built.'));
        },
      },
      tenant: () => 'a',
    });
    const blocks = [
      block('U', 'until'),
      condition('C', { yes: 'true', no: '' }),
      python('One', { sandboxId: ' one ' }),
      python('Two', { sandboxId: 'two' }),
      python('Twice', { sandboxId: 'two' }),
      python('Mocked', { sandboxId: 'three' }),
      python('Named later', { sandboxId: '<start.image>' }),
      python('Plain'),
    ];
    const others = ['One', 'Two', 'Twice', 'Mocked', 'Named later'].map((name) => `C:no -> ${name}`);
    const drawn = workflow(blocks, ['Start -> U -> Plain -> C', ...others]);
    const mocks = { blocks: { Mocked: 1 } };
    expect(await engine.execute({ workflow: drawn }, {}, { mocks })).toMatchObject({ status: 'completed' });
    expect(requested.toSorted()).toEqual(['one', 'two']);
    expect(sandboxes('python-child.cjs')).toHaveLength(1);
  });
});
