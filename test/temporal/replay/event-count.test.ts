import { expect, it } from 'vitest';
import type { Engine } from '@heddle/engine';
import type { BlockExecutor, Json } from '@heddle/core';
import { createDataFolder } from '../../support/data-folder.ts';
import { pickByScale } from '../../support/scale.ts';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { block, loop, workflow } from '../../support/workflow.ts';
import { HistoryReader, findReplayErrors, eventTypeOf } from './histories.ts';
import { openEngine } from './open-engine.ts';

/** Executes a block without effects. */
const calcExecutor: BlockExecutor = {
  types: ['calc'],
  class: 'compute',
  execute: ({ scope }) => ({ output: { at: [...scope] } }),
};
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J'];
const CONNECTIONS = [`Start -> ${NAMES.join(' -> ')}`];

describeTemporal('the number of events of a run on a server', (server) => {
  /** Runs the workflow until it ends. Returns the types of the events in all its histories. */
  async function runAndListEvents(
    definition: Json,
    inspect?: (engine: Engine, runId: string) => Promise<void>,
  ): Promise<string[]> {
    const scriptedExecutor = new ScriptedExecutor({}, () => ({ output: {} }));
    const { engine, close } = await openEngine(server, {
      data: createDataFolder(),
      options: { blocks: [scriptedExecutor.executor, calcExecutor] },
    });
    const historyReader = await HistoryReader.connect(server);
    try {
      const run = await engine.execute({ workflow: definition });
      expect(run).toMatchObject({ status: 'completed' });
      await inspect?.(engine, run.runId);
      const chain = await historyReader.readHistories(run.runId);
      expect(await findReplayErrors(chain)).toEqual([]);
      return chain.flatMap(({ history }) => history.events ?? []).map(eventTypeOf);
    } finally {
      await historyReader.close();
      await close();
    }
  }

  it('is at most eight, with one workflow task, for ten blocks that only compute', async () => {
    const types = await runAndListEvents(
      workflow(
        NAMES.map((name) => block(name, 'calc')),
        CONNECTIONS,
      ),
    );
    expect(types.filter((type) => type === 'workflowTaskCompleted')).toHaveLength(1);
    expect(types.length).toBeLessThanOrEqual(8);
  });

  it('is at most six for each of ten effects, plus twelve for the run itself', async () => {
    const types = await runAndListEvents(
      workflow(
        NAMES.map((name) => work(name)),
        CONNECTIONS,
      ),
    );
    expect(types.filter((type) => type === 'activityTaskScheduled')).toHaveLength(10);
    expect(types.length).toBeLessThanOrEqual(10 * 6 + 12);
  });

  it(
    'is much smaller than the number of iterations of a loop that only computes',
    async () => {
      const iterations = pickByScale(4000, 100_000);
      const definition = workflow(
        [loop('L', { loopType: 'for', count: iterations }, block('A', 'calc'))],
        ['Start -> L -> A'],
      );
      const types = await runAndListEvents(definition, async (engine, runId) => {
        const [, log] = (await engine.getLogs(runId)).filter(({ blockName }) => blockName !== 'A');
        expect((log?.output as { results: Json[] } | undefined)?.results).toHaveLength(iterations);
      });
      expect(types.length).toBeLessThanOrEqual(iterations / 50);
    },
    pickByScale(120_000, 900_000),
  );
});
