import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scenarios } from '../../model/arbitraries.ts';
import type { Scenario } from '../../model/arbitraries.ts';
import { dataFolder } from '../../support/data-folder.ts';
import { scale } from '../../support/scale.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { inFlight } from '../replay/in-flight.ts';
import { Pair } from './pair.ts';

/** Runs of each deployment, as they are drawn. */
const COUNT = scale(10, 700);
/** The same scenarios in every quick run; others in every full one. */
const SEED = Number(process.env['HEDDLE_SEED'] ?? scale(138_832_345, Math.floor(Math.random() * 2 ** 31)));
const PATIENCE_MS = scale(240_000, 3_600_000);

describeTemporal('parity with the local runtime', (server) => {
  // With how many runs at once.
  it.each([
    ['as it comes', {}, 16],
    ['with a tight budget', { budget: 4 }, 16],
    ['with an activity for every block', { checkpoint: 'block' as const }, 16],
    ['with segments on workers of their own', { local: false }, 16],
    ['with workflows that are forgotten whenever another has a task', { worker: { cachedWorkflows: 2 } }, 8],
  ])(
    'random runs have the same journal, logs and result: %s',
    async (_title, deployment, flight) => {
      const pair = await Pair.on(server, { data: dataFolder(), deployment });
      const drawn = fc.sample(scenarios('wild'), { numRuns: COUNT, seed: SEED });
      const results = inFlight([...drawn.entries()], {
        most: flight,
        name: ([index]) => String(index),
        work: ([, scenario]) => pair.compare(scenario),
      });
      const settled = await Promise.allSettled(results.values());
      await pair.close();
      const different = settled.flatMap((one, index) =>
        one.status === 'rejected'
          ? [{ scenario: drawn[index] as Scenario, error: one.reason as unknown }]
          : [],
      );
      const failed = [...different, ...(await pair.unreplayable())];
      if (failed.length > 0) throw smallest(failed);
      const compared = settled.filter((one) => one.status === 'fulfilled' && one.value);
      expect(compared.length).toBeGreaterThan(COUNT / 4);
    },
    PATIENCE_MS,
  );
});

/** What went wrong with the smallest of the scenarios. */
function smallest(failed: readonly { scenario: Scenario; error: unknown }[]): Error {
  const texts = failed.map(({ scenario, error }) => ({ text: JSON.stringify(scenario), error }));
  const [first] = texts.toSorted((a, b) => a.text.length - b.text.length);
  return new Error(
    `HEDDLE_SEED=${SEED} has ${failed.length} that differ; the smallest: ${first?.text}\n${String(first?.error)}`,
    { cause: first?.error },
  );
}
