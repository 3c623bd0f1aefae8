import type { Engine } from '@heddle/engine';
import { expect, it } from 'vitest';
import { createDataFolder } from '../../support/data-folder.ts';
import { sample, pickByScale } from '../../support/scale.ts';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { block, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import { HistoryReader, findReplayErrors } from './histories.ts';
import type { RunHistory } from './histories.ts';
import { openEngine } from './open-engine.ts';

const ITERATION_COUNT = pickByScale(40, 100);
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
      { loopType: 'for', count: ITERATION_COUNT },
      work('A', { retry: RETRY }),
      fn('F', 'return <loop.index> % 20 === 0 ? [1, 2, 3] : []'),
      parallel('P', { parallelType: 'collection', collection: '<f.result>' }, work('B')),
    ),
    fn('Z', 'return { turns: <l.results>.length, answer: <h.n> }'),
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
const CACHE_CASES: [title: string, sizes: { runCount: number; maxCachedWorkflows: number }][] = [
  ['with a cache for all of them', { runCount: 1, maxCachedWorkflows: 500 }],
  ['with a cache that is too small for all of them', { runCount: 3, maxCachedWorkflows: 2 }],
];

describeTemporal('runs that continue in new histories', (server) => {
  it.each(sample(CACHE_CASES, 1, 'caches of a worker with long runs'))(
    'run each effect exactly once, %s',
    async (_title, { runCount, maxCachedWorkflows }) => {
      const effectCounts = new Map<string, number>();
      const { promise: halfwayReached, resolve } = Promise.withResolvers<void>();
      let halfwayRunCount = 0;
      const scriptedExecutor = new ScriptedExecutor(
        {},
        ({ idempotencyKey, scope, block: { name }, attempt }) => {
          if (name === 'A' && scope[0] === ITERATION_COUNT / 2 && ++halfwayRunCount === runCount) resolve();
          if (name === 'A' && (scope[0] ?? 0) % 50 === 7 && attempt === 1) throw new Error('once');
          effectCounts.set(idempotencyKey, (effectCounts.get(idempotencyKey) ?? 0) + 1);
          return { output: { blockName: name } };
        },
      );
      const { engine, stores, close } = await openEngine(server, {
        data: createDataFolder(),
        options: { blocks: [scriptedExecutor.executor] },
        continueAsNewAfter: COMMANDS_PER_HISTORY,
        worker: { maxCachedWorkflows },
      });
      const historyReader = await HistoryReader.connect(server);
      try {
        const startedRuns = await Promise.all(
          Array.from({ length: runCount }, () => engine.start({ workflow: LONG_WORKFLOW })),
        );
        await halfwayReached;
        await Promise.all(startedRuns.map(({ runId }) => completeRun(engine, runId)));
        expect(new Set(effectCounts.values())).toEqual(new Set([1]));
        expect(effectCounts.size).toBe(runCount * (ITERATION_COUNT + (ITERATION_COUNT / 20) * 3));
        for (const { runId } of startedRuns) {
          const entries = await stores.runs.journal(runId);
          expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
          const logs = await engine.getLogs(runId);
          expect(logs.filter(({ blockName }) => blockName === 'A')).toHaveLength(ITERATION_COUNT);
          await expectShortHistories(await historyReader.readHistories(runId));
        }
      } finally {
        await historyReader.close();
        await close();
      }
    },
    pickByScale(240_000, 1_800_000),
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
  expect(outputs.blockOutputs).toEqual({ 'Z.result': { turns: ITERATION_COUNT, answer: 7 } });
}

/** Expects that no history of the run is too long and that each one can be replayed. */
async function expectShortHistories(chain: readonly RunHistory[]): Promise<void> {
  const lengths = chain.map(({ history }) => history.events?.length ?? 0);
  expect(chain.length).toBeGreaterThan(ITERATION_COUNT / COMMANDS_PER_HISTORY);
  expect(Math.max(...lengths)).toBeLessThan(MAX_EVENTS);
  expect(await findReplayErrors(chain)).toEqual([]);
}
