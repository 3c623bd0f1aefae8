import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scenarios } from '../../model/arbitraries.ts';
import type { Scenario } from '../../model/arbitraries.ts';
import { dataFolder } from '../../support/data-folder.ts';
import { isFull, sample, scale } from '../../support/scale.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { inFlight } from '../replay/in-flight.ts';
import { Pair } from './pair.ts';
import type { Deployment } from './pair.ts';

/** Number of runs for each deployment. */
const COUNT = scale(10, 200);
/** Quick runs always have the same scenarios, full runs draw new ones. */
const SEED = isFull ? Number(process.env['HEDDLE_SAMPLE_SEED']) : 138_832_345;
const TIMEOUT_MS = scale(240_000, 3_600_000);

const DEPLOYMENTS: [title: string, deployment: Deployment, flight: number][] = [
  ['with the defaults', {}, 16],
  ['with a tight budget', { budget: 4 }, 16],
  ['with an activity for every block', { checkpoint: 'block' }, 16],
  ['with segments in remote activities', { local: false }, 16],
  ['with a cache of two workflows', { worker: { cachedWorkflows: 2 } }, 8],
];

describeTemporal('parity with the local runtime', (server) => {
  it.each(sample(DEPLOYMENTS, 2, 'deployments that random runs compare with the local runtime'))(
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
    TIMEOUT_MS,
  );
});

/** Returns the error of the smallest failed scenario. */
function smallest(failed: readonly { scenario: Scenario; error: unknown }[]): Error {
  const texts = failed.map(({ scenario, error }) => ({ text: JSON.stringify(scenario), error }));
  const [first] = texts.toSorted((a, b) => a.text.length - b.text.length);
  return new Error(
    `HEDDLE_SAMPLE_SEED=${SEED} has ${failed.length} different runs; the smallest: ${first?.text}\n${String(first?.error)}`,
    { cause: first?.error },
  );
}
