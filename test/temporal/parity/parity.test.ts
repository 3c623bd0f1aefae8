import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scenarios } from '../../model/arbitraries.ts';
import type { Scenario } from '../../model/arbitraries.ts';
import { dataFolder } from '../../support/data-folder.ts';
import { isFull, sample, scale } from '../../support/scale.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { runConcurrently } from '../replay/run-concurrently.ts';
import { RuntimePair } from './pair.ts';
import type { Deployment } from './pair.ts';

/** Number of runs for each deployment. */
const RUN_COUNT = scale(10, 200);
/** Quick runs always have the same scenarios; full runs have new random scenarios. */
const SEED = isFull ? Number(process.env['HEDDLE_SAMPLE_SEED']) : 138_832_345;
const TIMEOUT_MS = scale(240_000, 3_600_000);

const DEPLOYMENTS: [title: string, deployment: Deployment, concurrency: number][] = [
  ['with the defaults', {}, 16],
  ['with a new history after every four commands', { continueAsNewAfter: 4 }, 16],
  ['with an activity for every block', { checkpoint: 'block' }, 16],
  ['with segments in remote activities', { localSegments: false }, 16],
  ['with a cache of two workflows', { worker: { cachedWorkflows: 2 } }, 8],
];

const compute = { kind: 'block', class: 'compute', handlesError: false } as const;
const wait = { ...compute, class: 'wait' } as const;
const parallel = { kind: 'parallel', class: 'inline', handlesError: false } as const;
const DEFAULTS = { start: 0, seed: 1, kind: 'unrestricted', graceMs: 0, order: 0 } as const;

/** Scenarios whose runs once differed. Rule R6 of docs/semantics.md states the order in which nodes start. */
const REGRESSIONS: readonly Scenario[] = [
  {
    // The run starts at a container with two first blocks, and one has a successor (R6).
    region: {
      nodes: [
        {
          ...{ ...parallel, id: 'n0', ins: [], outs: [] },
          subflow: {
            body: {
              nodes: [
                { ...compute, id: 'n0', ins: [], outs: [1] },
                { ...compute, id: 'n1', ins: [{ from: 0, port: 'source' }], outs: [] },
                { ...compute, id: 'n2', ins: [], outs: [] },
              ],
              entries: [0, 2],
            },
            count: 2,
            limit: 2,
          },
        },
      ],
      entries: [0],
    },
    ...DEFAULTS,
  },
  {
    // With `continueAsNewAfter: 4` the run continues as new before n2 and n3 start, and n3 is first (R6).
    region: {
      nodes: [
        { ...wait, id: 'n0', ins: [], outs: [1] },
        { ...wait, id: 'n1', ins: [{ from: 0, port: 'source' }], outs: [2, 3] },
        {
          ...{ ...parallel, id: 'n2', ins: [{ from: 1, port: 'source' }], outs: [] },
          subflow: {
            body: { nodes: [{ ...compute, id: 'n0', ins: [], outs: [] }], entries: [0] },
            count: 1,
            limit: 1,
          },
        },
        { ...compute, id: 'n3', ins: [{ from: 1, port: 'source' }], outs: [] },
      ],
      entries: [0],
    },
    ...DEFAULTS,
  },
];

describeTemporal('parity with the local runtime', (server) => {
  it.each(sample(DEPLOYMENTS, 2, 'deployments that random runs compare with the local runtime'))(
    'random runs have the same journal, logs and result: %s',
    async (_title, deployment, concurrency) => {
      const pair = await RuntimePair.open(server, { data: dataFolder(), deployment });
      const allScenarios = [
        ...REGRESSIONS,
        ...fc.sample(scenarios('unrestricted'), { numRuns: RUN_COUNT, seed: SEED }),
      ];
      const results = runConcurrently([...allScenarios.entries()], {
        limit: concurrency,
        name: ([index]) => String(index),
        work: ([, scenario]) => pair.compare(scenario),
      });
      const settled = await Promise.allSettled(results.values());
      await pair.close();
      const differences = settled.flatMap((result, index) =>
        result.status === 'rejected'
          ? [{ scenario: allScenarios[index] as Scenario, error: result.reason as unknown }]
          : [],
      );
      const failed = [...differences, ...(await pair.findUnreplayable())];
      if (failed.length > 0) throw smallestFailure(failed);
      const compared = settled.filter((result) => result.status === 'fulfilled' && result.value);
      expect(compared.length).toBeGreaterThan(RUN_COUNT / 4);
    },
    TIMEOUT_MS,
  );
});

/** Returns the error of the smallest failed scenario, with the errors of the other scenarios. */
function smallestFailure(failed: readonly { scenario: Scenario; error: unknown }[]): Error {
  const failures = failed.map(({ scenario, error }) => ({ text: JSON.stringify(scenario), error }));
  const [first, ...others] = failures.toSorted((a, b) => a.text.length - b.text.length);
  const summary = `Of the scenarios with the seed ${SEED}, ${failed.length} failed; the smallest: ${String(first?.error)}`;
  return new Error([summary, first?.text, ...others.map(({ error }) => String(error))].join('\n'), {
    cause: first?.error,
  });
}
