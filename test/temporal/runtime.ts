import { randomUUID } from 'node:crypto';
import type { Clock } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { temporal } from '@heddle/temporal';
import { onTestFinished } from 'vitest';
import type { RuntimeUnderTest, WhenDone } from '../conformance/runtime/suite.ts';
import { dataFolder } from '../support/data-folder.ts';
import { bundleClocked } from './clocked/bundle.ts';
import { serveClock } from './clocked/clock-worker.ts';

let clockedBundle: Promise<string> | undefined;

/** Returns a factory of engines that share a server, a queue and a data folder. Each has a worker in this process. */
export function runtimeOn(
  { address, namespace }: { address: string; namespace: string },
  whenDone: WhenDone = onTestFinished,
): RuntimeUnderTest {
  const queue = `test-${randomUUID()}`;
  const data = dataFolder(whenDone);
  const engines: Engine[] = [];
  let servedClock: { clock: Clock; stop: () => Promise<void> } | undefined;
  const useClock = async (clock: Clock): Promise<void> => {
    if (servedClock?.clock === clock) return;
    await servedClock?.stop();
    servedClock = { clock, stop: await serveClock(clock, { address, namespace, queue }) };
  };
  whenDone(async () => {
    for (const engine of engines) await engine.close({ graceMs: 0 });
    await servedClock?.stop();
  });
  return {
    open: async (options = {}) => {
      const { clock } = options;
      if (clock) await useClock(clock);
      const bundle = clock && (await (clockedBundle ??= bundleClocked()));
      const engine = await createEngine({
        ...options,
        runtime: temporal({
          address,
          namespace,
          taskQueue: queue,
          data,
          ...(bundle !== undefined && { bundle }),
        }),
      });
      engines.push(engine);
      return engine;
    },
  };
}
