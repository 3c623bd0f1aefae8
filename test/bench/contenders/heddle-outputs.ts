import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, parseWorkflow } from '@heddle/core';
import type { BlockExecutor } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { expectResult } from '../workload.ts';
import type { SelfMeasuringWorkload } from '../workload.ts';
import { chainOf } from './workflows.ts';

const MB = 1024 * 1024;

/** Blocks between two measurements of live memory. Each measurement is slow, because it collects garbage. */
const BLOCKS_PER_MEASUREMENT = 50;

/** Returns the peak increase of live memory, in MB, during a chain whose blocks output `chars` characters each. */
async function measurePeakIncrease(blockCount: number, chars: number): Promise<number> {
  const collectGarbage = globalThis.gc as () => void;
  const measureLiveMemoryMb = (): number => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / MB;
  };
  let count = 0;
  let maxLiveMemoryMb = 0;
  const step: BlockExecutor = {
    types: ['step'],
    class: 'compute',
    execute() {
      count++;
      if (count % BLOCKS_PER_MEASUREMENT === 0)
        maxLiveMemoryMb = Math.max(maxLiveMemoryMb, measureLiveMemoryMb());
      return { output: { count, text: String.fromCharCode(97 + (count % 26)).repeat(chars) } };
    },
  };
  const { workflow } = parseWorkflow(chainOf(blockCount));
  const compiled = workflow && compile(workflow, { blockTypes: [{ type: 'step', class: 'compute' }] });
  if (!compiled?.ok) throw new Error('The workflow does not compile.');
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const engine = await createEngine({ data: folder, blocks: [step] });
  const initialMb = measureLiveMemoryMb();
  const { status } = await engine.execute({ plan: compiled.plan }, {});
  expectResult(status, 'completed');
  await engine.close();
  rmSync(folder, { recursive: true });
  expectResult(count, blockCount);
  return maxLiveMemoryMb - initialMb;
}

/**
 * Measures how much more live memory a run needs if its outputs have 64 MB instead of 16 MB. The number of blocks is
 * the same, and all outputs are stored by reference.
 */
export function createOutputMemoryWorkload(blockCount: number): SelfMeasuringWorkload {
  return {
    async sample() {
      const increaseWithSmallOutputsMb = await measurePeakIncrease(blockCount, (16 * MB) / blockCount);
      return (await measurePeakIncrease(blockCount, (64 * MB) / blockCount)) - increaseWithSmallOutputsMb;
    },
  };
}
