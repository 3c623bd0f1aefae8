import type { Engine } from '@heddle/engine';
import { expect, it } from 'vitest';
import { dataFolder } from '../../support/data-folder.ts';
import { sample, scale } from '../../support/scale.ts';
import { Script, work } from '../../support/script.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { block, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import { Histories, replayErrors } from './histories.ts';
import type { RunHistory } from './histories.ts';
import { openEngine } from './open-engine.ts';

const ITERATIONS = scale(40, 100);
/** Number of commands after which a run continues as new, with a new history. */
const COMMANDS_PER_HISTORY = 20;
/** Upper bound of the number of events of a history: those of its commands, one more iteration, start and end. */
const MAX_EVENTS = COMMANDS_PER_HISTORY * 6 + 60;

const RETRY = { enabled: true, maxTries: 2, waitBetweenTriesMs: 5 };

/** A workflow with a loop of effects (some iterations have a parallel), concurrent pauses, and a wait. */
const LONG_WORKFLOW = workflow(
  [
    block('H', 'human_in_the_loop'),
    block('Open', 'human_in_the_loop'),
    block('W', 'wait', { timeValue: '1.5' }),
    loop(
      'L',
      { loopType: 'for', count: ITERATIONS },
      work('A', { retry: RETRY }),
      fn('F', 'return <loop.index> % 20 === 0 ? [1, 2, 3] : []'),
      parallel('P', { parallelType: 'collection', collection: '<f.result>' }, work('B')),
    ),
    fn('Z', 'return { turns: <l.results>.length, said: <h.n> }'),
  ],
  [
    'Start -> H',
    'Start -> Open',
    'Start -> W',
    'Start -> L -> A -> F -> P -> B',
    'L -> Z',
    'H -> Z',
    'W -> Z',
  ],
);

/** Number of concurrent runs, and size of the worker's cache. */
const CACHES: [title: string, sizes: { runs: number; cachedWorkflows: number }][] = [
  ['with a cache for all of them', { runs: 1, cachedWorkflows: 500 }],
  ['with a cache that is too small for all of them', { runs: 3, cachedWorkflows: 2 }],
];

describeTemporal('runs that continue in new histories', (server) => {
  it.each(sample(CACHES, 1, 'caches of a worker with long runs'))(
    'run each effect exactly once, %s',
    async (_title, { runs, cachedWorkflows }) => {
      const counts = new Map<string, number>();
      const { promise: halfway, resolve } = Promise.withResolvers<void>();
      let runsAtHalf = 0;
      const script = new Script({}, ({ idempotencyKey, scope, block: { name }, attempt }) => {
        if (name === 'A' && scope[0] === ITERATIONS / 2 && ++runsAtHalf === runs) resolve();
        if (name === 'A' && (scope[0] ?? 0) % 50 === 7 && attempt === 1) throw new Error('once');
        counts.set(idempotencyKey, (counts.get(idempotencyKey) ?? 0) + 1);
        return { output: { by: name } };
      });
      const { engine, stores, close } = await openEngine(server, {
        data: dataFolder(),
        options: { blocks: [script.executor] },
        continueAsNewAfter: COMMANDS_PER_HISTORY,
        worker: { cachedWorkflows },
      });
      const histories = await Histories.connect(server);
      try {
        const started = await Promise.all(
          Array.from({ length: runs }, () => engine.start({ workflow: LONG_WORKFLOW })),
        );
        await halfway;
        await Promise.all(started.map(({ runId }) => completeRun(engine, runId)));
        expect(new Set(counts.values())).toEqual(new Set([1]));
        expect(counts.size).toBe(runs * (ITERATIONS + (ITERATIONS / 20) * 3));
        for (const { runId } of started) {
          const entries = await stores.runs.journal(runId);
          expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
          const logs = await engine.getLogs(runId);
          expect(logs.filter(({ blockName }) => blockName === 'A')).toHaveLength(ITERATIONS);
          await expectShortHistories(await histories.of(runId));
        }
      } finally {
        await histories.close();
        await close();
      }
    },
    scale(240_000, 1_800_000),
  );
});

/** Answers both pauses, the second one after everything else has ended. */
async function completeRun(engine: Engine, runId: string): Promise<void> {
  const tokenOf = async (name: string): Promise<string> =>
    (await engine.getRun(runId)).pauses.find(({ blockName }) => blockName === name)?.token ?? '';
  await engine.resume(runId, { token: await tokenOf('H'), input: { n: 7 } });
  await expect
    .poll(async () => (await engine.getRun(runId)).pauseKind, { timeout: 60_000, interval: 200 })
    .toBe('human');
  const result = await engine.resume(runId, { token: await tokenOf('Open'), input: {} });
  expect(result).toMatchObject({ status: 'completed' });
  const outputs = await engine.getRun(runId, { select: ['Z.result'] });
  expect(outputs.blockOutputs).toEqual({ 'Z.result': { turns: ITERATIONS, said: 7 } });
}

/** Expects that no history of the run is too long and that each one can be replayed. */
async function expectShortHistories(chain: readonly RunHistory[]): Promise<void> {
  const lengths = chain.map(({ history }) => history.events?.length ?? 0);
  expect(chain.length).toBeGreaterThan(ITERATIONS / COMMANDS_PER_HISTORY);
  expect(Math.max(...lengths)).toBeLessThan(MAX_EVENTS);
  expect(await replayErrors(chain)).toEqual([]);
}
