import { afterAll, expect, it } from 'vitest';
import { readOutcomeCases } from '../../conformance/outcomes/cases.ts';
import type { OutcomeCase } from '../../conformance/outcomes/cases.ts';
import { optionsFor, runCase } from '../../conformance/outcomes/run-case.ts';
import { createDataFolder } from '../../support/data-folder.ts';
import { sample } from '../../support/scale.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { HistoryReader, findReplayErrors } from '../replay/histories.ts';
import { openEngine } from '../replay/open-engine.ts';
import type { OpenedEngine } from '../replay/open-engine.ts';
import { runConcurrently } from '../replay/run-concurrently.ts';

/** Number of concurrent cases. */
const CONCURRENCY = 20;

describeTemporal('recorded outcomes', (server) => {
  const cases = sample(readOutcomeCases(), 8, 'recorded outcomes');
  const data = createDataFolder(afterAll);
  const engines = new Map<string, Promise<OpenedEngine>>();
  const runIds = new Map(cases.map(({ id }) => [id, `${id}-${crypto.randomUUID()}`]));
  let results: Map<string, Promise<string>> | undefined;

  afterAll(async () => {
    for (const engine of engines.values()) await (await engine).close();
  });

  /** Returns the engine, with one worker, for the options of a case. Cases with the same options share an engine. */
  function engineFor(outcomeCase: OutcomeCase): Promise<OpenedEngine> {
    const options = optionsFor(outcomeCase);
    const key = JSON.stringify(options);
    const engine = engines.get(key) ?? openEngine(server, { data, options });
    engines.set(key, engine);
    return engine;
  }

  /** Returns the outcomes by case. The first call starts all cases. */
  function runCases(): Map<string, Promise<string>> {
    results ??= runConcurrently(cases, {
      limit: CONCURRENCY,
      nameOf: ({ id }) => id,
      work: async (outcomeCase) => {
        const { engine } = await engineFor(outcomeCase);
        return runCase(engine, outcomeCase, runIds.get(outcomeCase.id));
      },
    });
    return results;
  }

  it.each(cases.map(({ id, title }) => [id, title]))('%s %s', async (id) => {
    expect(await runCases().get(id)).toBe('as recorded');
  });

  it('have histories that can all be replayed', async () => {
    await Promise.allSettled(runCases().values());
    const historyReader = await HistoryReader.connect(server);
    const startedIds = new Set<string>();
    for (const engine of engines.values()) {
      const { stores } = await engine;
      for (const runId of runIds.values()) if (await stores.runs.header(runId)) startedIds.add(runId);
    }
    const chains = await Promise.all([...startedIds].map((runId) => historyReader.readHistories(runId)));
    await historyReader.close();
    // Refused workflows have no history. In a sample, they can be more than a fifth.
    expect(chains.length).toBeGreaterThan(cases.length / 2);
    expect(await findReplayErrors(chains.flat())).toEqual([]);
  });
});
