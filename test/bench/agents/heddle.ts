import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blocks } from '@heddle/blocks';
import type { BlockExecutor } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { block, workflow } from '../../support/workflow.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { COUNT_TOOL, QUESTION, openAgentWorkload } from './model.ts';

function createAgentWorkload(rounds: number, folder: string | undefined): Promise<TimedWorkload> {
  return openAgentWorkload(rounds, async (url) => {
    const { name: id, ...definition } = COUNT_TOOL;
    const countTool = { ...definition, id, idempotent: true, run: async () => ({ counted: 1 }) };
    const engine = await createEngine({
      ...(folder !== undefined && { data: folder }),
      blocks: blocks({ tools: [countTool] }),
      services: { local: url },
    });
    const fields = {
      model: 'local/scripted',
      messages: [{ role: 'user', content: QUESTION }],
      tools: [{ type: id }],
    };
    await engine.deploy(workflow([block('A', 'agent', fields)], ['Start -> A'], { id: 'agent' }));
    return {
      async ask() {
        const { output } = await engine.execute('agent', {});
        const { content, toolCalls } = output as { content: string; toolCalls: { count: number } };
        return { text: content, callCount: toolCalls.count };
      },
      async close() {
        await engine.close();
        if (folder !== undefined) rmSync(folder, { recursive: true });
      },
    };
  });
}

const createFolder = (): string => mkdtempSync(join(tmpdir(), 'heddle-bench-'));

/** Returns a workload: a run of a block with `size` steps. */
async function createStepsWorkload(size: number): Promise<TimedWorkload> {
  const steps: BlockExecutor = {
    types: ['steps'],
    class: 'effect',
    async execute({ step }) {
      for (let n = 0; n < size; n++) await step(`step-${n}`, () => ({ n }), { idempotent: true });
      return { output: { n: size } };
    },
  };
  const folder = createFolder();
  const engine = await createEngine({ data: folder, blocks: [steps] });
  await engine.deploy(workflow([block('S', 'steps')], ['Start -> S'], { id: 'steps' }));
  return {
    async runOnce() {
      expectResult(((await engine.execute('steps', {})).output as { n: number }).n, size);
    },
    async close() {
      await engine.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export const heddle: Contender = {
  agent: (rounds) => createAgentWorkload(rounds, undefined),
  'durable agent': (rounds) => createAgentWorkload(rounds, createFolder()),
  steps: createStepsWorkload,
};
