import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scenarios } from '../../model/arbitraries.ts';
import type { Scenario } from '../../model/arbitraries.ts';
import { createDataFolder } from '../../support/data-folder.ts';
import { isFullRun, sample, pickByScale } from '../../support/scale.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { runConcurrently } from '../replay/run-concurrently.ts';
import { RuntimePair } from './pair.ts';
import type { Deployment } from './pair.ts';

/** Number of runs for each deployment. */
const RUN_COUNT = pickByScale(10, 200);
/** Quick runs always have the same scenarios; full runs have new random scenarios. */
const SEED = isFullRun ? Number(process.env['HEDDLE_SAMPLE_SEED']) : 138_832_345;
const TIMEOUT_MS = pickByScale(240_000, 3_600_000);

const DEPLOYMENTS: [title: string, deployment: Deployment, concurrency: number][] = [
  ['with the defaults', {}, 16],
  ['with a new history after every four commands', { continueAsNewAfter: 4 }, 16],
  ['with an activity for every block', { checkpoint: 'block' }, 16],
  ['with segments in remote activities', { localSegments: false }, 16],
  ['with a cache of two workflows', { worker: { maxCachedWorkflows: 2 } }, 8],
];

const computeNode = { kind: 'block', class: 'compute', handlesError: false } as const;
const waitNode = { ...computeNode, class: 'wait' } as const;
const parallelNode = { kind: 'parallel', class: 'inline', handlesError: false } as const;
const SCENARIO_DEFAULTS = { start: 0, seed: 1, kind: 'unrestricted', graceMs: 0, orderSeed: 0 } as const;

/** Scenarios whose runs once differed. Rule R6 of docs/semantics.md states the order in which nodes start. */
const REGRESSIONS: readonly Scenario[] = [
  {
    // The run starts at a container with two first blocks, and one has a successor (R6).
    region: {
      nodes: [
        {
          ...{ ...parallelNode, id: 'n0', ins: [], outs: [] },
          subflow: {
            body: {
              nodes: [
                { ...computeNode, id: 'n0', ins: [], outs: [1] },
                { ...computeNode, id: 'n1', ins: [{ from: 0, port: 'source' }], outs: [] },
                { ...computeNode, id: 'n2', ins: [], outs: [] },
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
    ...SCENARIO_DEFAULTS,
  },
  {
    // With `continueAsNewAfter: 4` the run continues as new before n2 and n3 start, and n3 is first (R6).
    region: {
      nodes: [
        { ...waitNode, id: 'n0', ins: [], outs: [1] },
        { ...waitNode, id: 'n1', ins: [{ from: 0, port: 'source' }], outs: [2, 3] },
        {
          ...{ ...parallelNode, id: 'n2', ins: [{ from: 1, port: 'source' }], outs: [] },
          subflow: {
            body: { nodes: [{ ...computeNode, id: 'n0', ins: [], outs: [] }], entries: [0] },
            count: 1,
            limit: 1,
          },
        },
        { ...computeNode, id: 'n3', ins: [{ from: 1, port: 'source' }], outs: [] },
      ],
      entries: [0],
    },
    ...SCENARIO_DEFAULTS,
  },
];

describeTemporal('parity with the local runtime', (server) => {
  it.each(sample(DEPLOYMENTS, 2, 'deployments that random runs compare with the local runtime'))(
    'random runs have the same journal, logs and result: %s',
    async (_title, deployment, concurrency) => {
      const pair = await RuntimePair.open(server, { data: createDataFolder(), deployment });
      const allScenarios = [
        ...REGRESSIONS,
        ...fc.sample(scenarios('unrestricted'), { numRuns: RUN_COUNT, seed: SEED }),
      ];
      const results = runConcurrently([...allScenarios.entries()], {
        limit: concurrency,
        nameOf: ([index]) => String(index),
        work: ([, scenario]) => pair.compare(scenario),
      });
      const settledResults = await Promise.allSettled(results.values());
      await pair.close();
      const differences = settledResults.flatMap((result, index) =>
        result.status === 'rejected'
          ? [{ scenario: allScenarios[index] as Scenario, error: result.reason as unknown }]
          : [],
      );
      const failedScenarios = [...differences, ...(await pair.findUnreplayableScenarios())];
      if (failedScenarios.length > 0) throw smallestFailure(failedScenarios);
      const comparisons = settledResults.filter((result) => result.status === 'fulfilled' && result.value);
      expect(comparisons.length).toBeGreaterThan(RUN_COUNT / 4);
    },
    TIMEOUT_MS,
  );
});

/** Returns the error of the smallest failed scenario, with the errors of the other scenarios. */
function smallestFailure(failedScenarios: readonly { scenario: Scenario; error: unknown }[]): Error {
  const failures = failedScenarios.map(({ scenario, error }) => ({ text: JSON.stringify(scenario), error }));
  const [smallest, ...others] = failures.toSorted((a, b) => a.text.length - b.text.length);
  const summary = `Of the scenarios with the seed ${SEED}, ${failedScenarios.length} failed; the smallest: ${String(smallest?.error)}`;
  return new Error([summary, smallest?.text, ...others.map(({ error }) => String(error))].join('\n'), {
    cause: smallest?.error,
  });
}
