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

let clocked: Promise<string> | undefined;

/** Engines on a server, each with a worker in this process, over one data folder and one queue. */
export function onServer(
  { address, namespace }: { address: string; namespace: string },
  whenDone: WhenDone = onTestFinished,
): RuntimeUnderTest {
  const queue = `test-${randomUUID()}`;
  const data = dataFolder(whenDone);
  const engines: Engine[] = [];
  let going: { clock: Clock; stop: () => Promise<void> } | undefined;
  const goBy = async (clock: Clock): Promise<void> => {
    if (going?.clock === clock) return;
    await going?.stop();
    going = { clock, stop: await serveClock(clock, { address, namespace, queue }) };
  };
  whenDone(async () => {
    for (const engine of engines) await engine.close({ graceMs: 0 });
    await going?.stop();
  });
  return {
    open: async (options = {}) => {
      const { clock } = options;
      if (clock) await goBy(clock);
      const bundle = clock && (await (clocked ??= bundleClocked()));
      const engine = await createEngine({
        ...options,
        runtime: temporal({ address, namespace, queue, data, ...(bundle !== undefined && { bundle }) }),
      });
      engines.push(engine);
      return engine;
    },
  };
}
