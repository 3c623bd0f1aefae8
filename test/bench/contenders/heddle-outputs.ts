import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, parseWorkflow } from '@heddle/core';
import type { BlockExecutor } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { expectResult } from '../workload.ts';
import type { Measured } from '../workload.ts';
import { chainOf } from './workflows.ts';

const MB = 1024 * 1024;

/** Blocks between two measurements of live memory, because a garbage collection is slow. */
const EVERY = 50;

/** Returns the peak increase of live memory, in MB, during a chain whose blocks output `chars` characters each. */
async function peak(blocks: number, chars: number): Promise<number> {
  const collect = globalThis.gc as () => void;
  const live = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / MB;
  };
  let count = 0;
  let most = 0;
  const step: BlockExecutor = {
    types: ['step'],
    class: 'compute',
    execute() {
      count++;
      if (count % EVERY === 0) most = Math.max(most, live());
      return { output: { count, text: String.fromCharCode(97 + (count % 26)).repeat(chars) } };
    },
  };
  const { workflow } = parseWorkflow(chainOf(blocks));
  const compiled = workflow && compile(workflow, { blocks: [{ type: 'step', class: 'compute' }] });
  if (!compiled?.ok) throw new Error('the workflow does not compile');
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const engine = await createEngine({ data: folder, blocks: [step] });
  const before = live();
  const { status } = await engine.execute({ plan: compiled.plan }, {});
  expectResult(status, 'completed');
  await engine.close();
  rmSync(folder, { recursive: true });
  expectResult(count, blocks);
  return most - before;
}

/** Returns the additional live memory for 64 MB of outputs instead of 16 MB by the same number of blocks, all by reference. */
export function memoryOfOutputs(blocks: number): Measured {
  return {
    async sample() {
      const small = await peak(blocks, (16 * MB) / blocks);
      return (await peak(blocks, (64 * MB) / blocks)) - small;
    },
  };
}
