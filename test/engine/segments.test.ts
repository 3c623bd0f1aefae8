import type { Entry } from '@heddle/core/run';
import { createWorkerResources, RemoteRuns } from '@heddle/engine/runtime';
import type { Position, TimedEntry } from '@heddle/engine/runtime';
import { openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StallDetector } from '../../packages/engine/src/runtime/segments/stall-detector.ts';
import { createBlockLog, createRunHeader, createRunRecord, createStartedEntry } from '../support/run-data.ts';
import { ScriptedExecutor } from '../support/scripted-executor.ts';
import { journalItemOf, openWorker } from './segment-worker.ts';

const describeEntries = (entries: readonly TimedEntry[]): string[] =>
  entries.map((entry) => `${entry.type} ${'block' in entry ? entry.block : ''}`.trim());

/**
 * Returns stores in which another process saves the run after each read, each time with one more entry and one more
 * log.
 */
function createStoresWithWriter(stores: SharedStores, runId: string): SharedStores {
  let seq = 0;
  const save = (): unknown =>
    stores.runs.saveRecord(createRunRecord(runId, { seq: ++seq }), [createBlockLog(runId, seq)]);
  save();
  const runs = new Proxy(stores.runs, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return async (...args: unknown[]) => {
        const result = await method.apply(target, args);
        await save();
        return result;
      };
    },
  });
  return { ...stores, runs };
}

describe('RemoteRuns', () => {
  it('returns a record with its own logs even if another process saves the run during the read', async () => {
    const stores = openStores();
    await stores.runs.create(createRunHeader('r'), createStartedEntry());
    const resources = createWorkerResources(createStoresWithWriter(stores, 'r'), {});
    onTestFinished(() => resources.close());
    const state = await new RemoteRuns(resources.dependencies).readRun('r', { withLogs: true });
    expect(state?.logs).toHaveLength(state?.record.seq ?? 0);
  });
});

describe('Segments', () => {
  it('run every reachable block, and write no entry before its position in the journal is known', async () => {
    const scriptedExecutor = new ScriptedExecutor({}, () => ({ output: { n: 1 } }));
    const { stores, recordRun, run } = openWorker(scriptedExecutor);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A -> B']);
    const { id, entries } = await run({ runId, owed });
    expect(scriptedExecutor.calls).toEqual(['A', 'B']);
    expect(describeEntries(entries)).toHaveLength(3);
    expect(await stores.runs.journal(runId)).toHaveLength(1);
    const position = { seq: 4, tip: id, unwritten: [journalItemOf(id, entries, 2)] };
    await run({ runId, owed: [], position });
    expect((await stores.runs.journal(runId)).map(({ type }: Entry) => type)).toEqual([
      'started',
      'completed',
      'completed',
      'completed',
    ]);
    expect(await stores.runs.record(runId)).toMatchObject({ status: 'completed', seq: 4 });
  });

  it('do not repeat a block that ended between the detachment of its segment and the next request', async () => {
    const scriptedExecutor = new ScriptedExecutor({ B: () => ({ output: {} }) });
    const { recordRun, run } = openWorker(scriptedExecutor);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A -> B']);
    const segmentPromise = run({ runId, owed, hardMs: 1 });
    const call = await scriptedExecutor.nextCall('A');
    const { id, entries, over } = await segmentPromise;
    expect(over).toBe(true);
    call.complete({ n: 1 });
    await new Promise(setImmediate);
    const position = { seq: 2, tip: id, unwritten: [journalItemOf(id, entries, 2)] };
    const commandsAfterStart = [{ type: 'run' as const, at: [(owed[0]?.at[0] ?? 0) + 1], try: 1 }];
    const nextResult = await run({ runId, owed: commandsAfterStart, position });
    expect(describeEntries(nextResult.entries)).toHaveLength(2);
    expect(scriptedExecutor.calls).toEqual(['A', 'B']);
  });

  it('of a new worker continue after the entries that a lost worker reported, without repeating its blocks', async () => {
    const scriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { n: 1 } }) });
    const lostWorker = openWorker(scriptedExecutor);
    const { runId, owed } = await lostWorker.recordRun(['A', 'B', 'C'], ['Start -> A -> B -> C']);
    const reportedEntries: TimedEntry[] = [];
    const shutdown = new AbortController();
    const runPromise = lostWorker.run({
      runId,
      owed,
      signal: shutdown.signal,
      onProgress: (entries) => reportedEntries.splice(0, reportedEntries.length, ...entries),
    });
    await scriptedExecutor.nextCall('B');
    const nextScriptedExecutor = new ScriptedExecutor({}, () => ({ output: { n: 2 } }));
    const { entries } = await openWorker(nextScriptedExecutor, lostWorker.stores).run({
      runId,
      owed,
      recoveredEntries: reportedEntries,
    });
    expect([scriptedExecutor.calls, nextScriptedExecutor.calls]).toEqual([
      ['A', 'B'],
      ['B', 'C'],
    ]);
    expect(entries).toHaveLength(4);
    shutdown.abort();
    await runPromise;
  });

  it('of a stalled worker write nothing after other workers have continued the run', async () => {
    let nowMs = 0;
    const scriptedExecutor = new ScriptedExecutor();
    const stalledWorker = openWorker(scriptedExecutor, openStores(), {
      stallDetector: new StallDetector(() => nowMs),
    });
    const { runId, owed } = await stalledWorker.recordRun(['A'], ['Start -> A']);
    const runPromise = stalledWorker.run({ runId, owed, alone: true });
    const call = await scriptedExecutor.nextCall('A');
    nowMs = 60_000;
    const otherScriptedExecutor = new ScriptedExecutor({}, () => ({ output: { worker: 'the other' } }));
    expect(
      await openWorker(otherScriptedExecutor, stalledWorker.stores).run({ runId, owed, alone: true }),
    ).toMatchObject({
      written: true,
    });
    const writtenEntries = await stalledWorker.stores.runs.journal(runId);
    call.complete({ worker: 'the stalled one' });
    await expect(runPromise).rejects.toMatchObject({ code: 'RUN_ELSEWHERE' });
    expect(await stalledWorker.stores.runs.journal(runId)).toEqual(writtenEntries);
    expect(await stalledWorker.stores.runs.record(runId)).toMatchObject({
      status: 'completed',
      suspended: undefined,
    });
  });

  it('give a pause point the same token if it opens again because its result was lost', async () => {
    const scriptedExecutor = new ScriptedExecutor({}, () => ({ pause: { please: 'answer' } }));
    const lostWorker = openWorker(scriptedExecutor);
    const { runId, owed } = await lostWorker.recordRun(['A'], ['Start -> A']);
    const { runId: otherRunId } = await lostWorker.recordRun(['A'], ['Start -> A']);
    const tokens = [];
    for (const request of [{ runId }, { runId }, { runId: otherRunId }]) {
      const { entries } = await openWorker(scriptedExecutor, lostWorker.stores).run({ ...request, owed });
      tokens.push(entries.find((entry) => entry.type === 'paused')?.token);
    }
    expect(tokens[0]).toMatch(/^[\w-]{32}$/);
    expect(tokens[1]).toBe(tokens[0]);
    expect(tokens[2]).not.toBe(tokens[0]);
  });

  it('do not read the journal of a wide run again for requests that are slightly out of order', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `B${index}`);
    const scriptedExecutor = new ScriptedExecutor({}, () => ({ output: { n: 1 } }));
    const stores = openStores();
    const tail = stores.runs.tail.bind(stores.runs);
    let fullReadCount = 0;
    stores.runs.tail = (runId, seq) => {
      if (seq < 0) fullReadCount++;
      return tail(runId, seq);
    };
    const { recordRun, run } = openWorker(scriptedExecutor, stores);
    const edges = names.map((name) => `Start -> ${name}`);
    const { runId, owed } = await recordRun(names, edges);
    const { entries } = await run({ runId, owed });
    const positions = entries.map((entry, index) => ({
      seq: index + 2,
      tip: `one-${index}`,
      unwritten: [journalItemOf(`one-${index}`, [entry], index + 2)],
    }));
    const read = (position: Position): Promise<unknown> => run({ runId, owed: [], beyond: false, position });
    for (const position of positions) await read(position);
    fullReadCount = 0;
    // In the order of a worker with several slots: a request is at most two positions away from its position in the
    // journal.
    for (let index = 0; index < positions.length; index += 3)
      for (const positionIndex of [index + 2, index, index + 1]) {
        const position = positions[positionIndex];
        if (position) await read({ ...position, unwritten: [] });
      }
    expect(fullReadCount).toBeLessThanOrEqual(3);
    expect(await stores.runs.record(runId)).toMatchObject({ status: 'completed' });
  });

  it('discard speculative entries that did not become part of the journal', async () => {
    const scriptedExecutor = new ScriptedExecutor({}, () => ({ output: { n: 1 } }));
    const { stores, recordRun, run } = openWorker(scriptedExecutor);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A', 'Start -> B']);
    const firstResult = await run({ runId, owed });
    // The journal has the result of another worker at this position: the start block only.
    const [startEntry] = firstResult.entries as [TimedEntry];
    const position = { seq: 2, tip: 'other', unwritten: [journalItemOf('other', [startEntry], 2)] };
    const secondResult = await run({
      runId,
      owed: owed.map((command) => ({ ...command, at: [1] })),
      position,
    });
    expect(await stores.runs.record(runId)).toMatchObject({ status: 'running', seq: 2 });
    expect(describeEntries(secondResult.entries)).toHaveLength(1);
  });
});
