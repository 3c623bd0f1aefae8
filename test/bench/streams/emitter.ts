import type { BlockExecutor } from '@heddle/core/blocks';
import type { RunEvent } from '@heddle/engine';
import { block, workflow } from '../../support/workflow.ts';
import type { SelfMeasuringWorkload } from '../workload.ts';
import { medianOf } from '../worker.ts';

export const EMITTER_WORKFLOW = workflow([block('T', 'emitter')], ['Start -> T'], { id: 'emitter' });

/** Returns a block that awaits `waitForEmit()` and then emits the time of the monotonic clock, in nanoseconds. */
export function emitterBlock(waitForEmit: () => Promise<void>): BlockExecutor {
  return {
    types: ['emitter'],
    class: 'effect',
    execute: async (context) => {
      await waitForEmit();
      context.emit({ type: 'text', text: String(process.hrtime.bigint()) });
      return { output: {} };
    },
  };
}

/** Returns the milliseconds since a time of the monotonic clock in nanoseconds. */
export function msSince(timeNs: string): number {
  return Number(process.hrtime.bigint() - BigInt(timeNs)) / 1e6;
}

/** Reads until the block has started, calls `emit`, and returns the milliseconds from the emission to its event. */
export async function measureDelay(events: AsyncIterable<RunEvent>, emit: () => void): Promise<number> {
  let delayMs: number | undefined;
  for await (const event of events) {
    if (event.type === 'block:started' && event.log.blockName === 'T') emit();
    if (event.type === 'block:emission' && event.emission.type === 'text')
      delayMs ??= msSince(event.emission.text);
  }
  if (delayMs === undefined) throw new Error('The run ended before the text arrived.');
  return delayMs;
}

/** Measures the median of the delays that `measureOnce` returns during a sample, after two warm-up calls. */
export function createMedianDelayWorkload(
  measureOnce: () => Promise<number>,
  close: () => Promise<void> | void,
): SelfMeasuringWorkload {
  return {
    async sample(sampleMs) {
      await measureOnce();
      await measureOnce();
      const samples: number[] = [];
      for (const startMs = performance.now(); performance.now() - startMs < sampleMs || samples.length === 0;)
        samples.push(await measureOnce());
      return medianOf(samples);
    },
    close,
  };
}
