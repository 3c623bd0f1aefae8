import type { RunEvent } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor } from '../support/scripted-executor.ts';
import { TestClock } from '../support/test-clock.ts';
import { journalItemOf, openWorker } from './segment-worker.ts';

/** A time later than every execution of a block in a lost task. */
const LATER_MS = 5_000_000_000_000;

describe('Segments', () => {
  it('of a worker that only the server cannot reach write nothing after another worker has run their block', async () => {
    const scriptedExecutor = new ScriptedExecutor();
    const unreachableWorker = openWorker(scriptedExecutor);
    const { runId, owed } = await unreachableWorker.recordRun(['A'], ['Start -> A']);
    const otherWorker = openWorker(
      new ScriptedExecutor({}, () => ({ output: { worker: 'the other' } })),
      unreachableWorker.stores,
    );
    const startEntries = (await otherWorker.run({ runId, owed })).entries.slice(0, 1);
    const position = {
      seq: 2,
      tip: 'start block',
      unwritten: [journalItemOf('start block', startEntries, 2)],
    };
    const commandsAtA = [{ type: 'run' as const, at: [(owed[0]?.at[0] ?? 0) + 1], try: 1 }];
    const request = { runId, owed: commandsAtA, position, beyond: false };
    const runPromise = unreachableWorker.run(request);
    const call = await scriptedExecutor.nextCall('A');
    const { id, entries } = await otherWorker.run(request);
    await otherWorker.save(runId, { seq: 3, tip: id, unwritten: [journalItemOf(id, entries, 3)] });
    const writtenEntries = await unreachableWorker.stores.runs.journal(runId);
    call.complete({ worker: 'the worker that is cut off' });
    await runPromise;
    await unreachableWorker.save(runId, position);
    expect(await unreachableWorker.stores.runs.journal(runId)).toEqual(writtenEntries);
    expect(await unreachableWorker.stores.runs.record(runId)).toMatchObject({ status: 'completed', seq: 3 });
  });

  describe('a run whose task was lost after it had written entries', () => {
    /** Records a run of A -> B -> C. A lost worker writes the entries of the start block, A and B. */
    async function recordRunWithLostTask() {
      const lostWorker = openWorker(new ScriptedExecutor({}, () => ({ output: { n: 1 } })));
      const { stores } = lostWorker;
      const { runId, owed } = await lostWorker.recordRun(['A', 'B', 'C'], ['Start -> A -> B -> C']);
      const { id, entries } = await lostWorker.run({ runId, owed });
      await lostWorker.save(runId, {
        seq: 4,
        tip: id,
        unwritten: [journalItemOf(id, entries.slice(0, 3), 2)],
      });
      expect(await stores.runs.record(runId)).toMatchObject({ status: 'running', seq: 4 });
      const readState = async () => ({
        record: await stores.runs.record(runId),
        journal: (await stores.runs.journal(runId)).map(({ type }) => type),
        logs: (await stores.runs.logs(runId)).map(({ blockName, status }) => `${blockName} ${status}`),
      });
      return { lostWorker, stores, runId, owed, readState };
    }
    const openLaterWorker = (stores: SharedStores) =>
      openWorker(new ScriptedExecutor({}, () => ({ output: { n: 2 } })), stores, {
        clock: new TestClock(LATER_MS),
      });
    /** Returns the outputs in the logs of A, B and C. */
    const readOutputs = async (stores: SharedStores, runId: string) =>
      (await stores.runs.logs(runId)).slice(1).map(({ output }) => (output as { v: unknown }).v);
    const FAILED_STATE = {
      record: { status: 'failed', seq: 3 },
      journal: ['started', 'completed', 'failed'],
      logs: ['Start completed', 'A failed'],
    };
    const fail = (): never => {
      throw new Error('The second attempt fails.');
    };

    it('ends, and its record, journal and logs show only this end', async () => {
      const { stores, runId, owed, readState } = await recordRunWithLostTask();
      const nextWorker = openWorker(new ScriptedExecutor({}, fail), stores);
      expect(await nextWorker.run({ runId, owed, alone: true })).toMatchObject({ written: true });
      expect(await readState()).toMatchObject(FAILED_STATE);
    });

    it('ends in the same process', async () => {
      const { lostWorker, stores, runId, owed, readState } = await recordRunWithLostTask();
      const { id, entries } = await openWorker(new ScriptedExecutor({}, fail), stores).run({ runId, owed });
      await lostWorker.save(runId, { seq: 3, tip: id, unwritten: [journalItemOf(id, entries, 2)] });
      expect(await readState()).toMatchObject(FAILED_STATE);
    });

    it('continues in the same process, which shows no result of the lost task and does not use it', async () => {
      const { lostWorker, stores, runId, owed } = await recordRunWithLostTask();
      const { id, entries } = await openLaterWorker(stores).run({ runId, owed });
      await lostWorker.save(runId, {
        seq: 3,
        tip: 'A',
        unwritten: [journalItemOf('A', entries.slice(0, 2), 2)],
      });
      await lostWorker.save(runId, { seq: 5, tip: id, unwritten: [journalItemOf(id, entries.slice(2), 4)] });
      expect(await stores.runs.record(runId)).toMatchObject({ status: 'completed', seq: 5 });
      expect(await readOutputs(stores, runId)).toEqual([{ n: 2 }, { n: 2 }, { n: 2 }]);
    });

    it('runs its next blocks in the same process, which then saves the logs of the earlier blocks', async () => {
      const { lostWorker, stores, runId, owed } = await recordRunWithLostTask();
      const { entries } = await openLaterWorker(stores).run({ runId, owed });
      const position = { seq: 3, tip: 'A', unwritten: [journalItemOf('A', entries.slice(0, 2), 2)] };
      const commandsAtB = [{ type: 'run' as const, at: [(owed[0]?.at[0] ?? 0) + 2], try: 1 }];
      const nextResult = await lostWorker.run({ runId, owed: commandsAtB, position });
      await lostWorker.save(runId, {
        seq: 5,
        tip: nextResult.id,
        unwritten: [journalItemOf(nextResult.id, nextResult.entries, 4)],
      });
      expect(await stores.runs.record(runId)).toMatchObject({ status: 'completed', seq: 5 });
      expect(await readOutputs(stores, runId)).toEqual([{ n: 2 }, { n: 1 }, { n: 1 }]);
    });

    it('is cancelled', async () => {
      const { stores, runId, readState } = await recordRunWithLostTask();
      const cancelledEntry = { atMs: 9, type: 'cancelled', reason: 'no longer needed' } as const;
      const unwritten = [journalItemOf('cancelled', [cancelledEntry], 2)];
      await openWorker(new ScriptedExecutor(), stores).save(runId, { seq: 2, tip: 'cancelled', unwritten });
      expect(await readState()).toMatchObject({
        record: { status: 'cancelled', seq: 2 },
        journal: ['started', 'cancelled'],
        logs: ['Start cancelled'],
      });
    });

    it('is cancelled with as many entries, and keeps no logs of blocks that only the lost task has started', async () => {
      const lostWorker = openWorker(new ScriptedExecutor({}, () => ({ output: {} })));
      const { runId, owed } = await lostWorker.recordRun(['A', 'B'], ['Start -> A', 'Start -> B']);
      const { id, entries } = await lostWorker.run({ runId, owed });
      await lostWorker.save(runId, {
        seq: 2,
        tip: id,
        unwritten: [journalItemOf(id, entries.slice(0, 1), 2)],
      });
      expect(await lostWorker.stores.runs.logs(runId)).toHaveLength(3);
      const unwritten = [journalItemOf('cancelled', [{ atMs: 9, type: 'cancelled' }], 2)];
      await lostWorker.save(runId, { seq: 2, tip: 'cancelled', unwritten });
      expect(await lostWorker.stores.runs.logs(runId)).toMatchObject([
        { blockName: 'Start', status: 'cancelled' },
      ]);
    });

    it('pauses, and accepts an answer', async () => {
      const { stores, runId, owed, readState } = await recordRunWithLostTask();
      const nextWorker = openWorker(
        new ScriptedExecutor({}, () => ({ pause: { please: 'answer' } })),
        stores,
      );
      const { id, entries } = await nextWorker.run({ runId, owed });
      await nextWorker.save(runId, { seq: 3, tip: id, unwritten: [journalItemOf(id, entries, 2)] });
      expect(await readState()).toMatchObject({
        record: { status: 'paused', seq: 3 },
        journal: ['started', 'completed', 'paused'],
        logs: ['Start completed', 'A paused'],
      });
      expect(await nextWorker.answer(runId)).toBe(3);
    });
  });

  describe('a follower of a run whose task was lost after it had written entries', () => {
    /** Follows a run of A, B and C, and reads that A and B have completed in a task that is then lost. */
    async function followLostTask(scriptedExecutor: ScriptedExecutor) {
      const lostWorker = openWorker(new ScriptedExecutor({}, () => ({ output: { worker: 'lost' } })));
      const { runId, owed } = await lostWorker.recordRun(['A', 'B', 'C'], ['Start -> A -> B -> C']);
      const { id, entries } = await lostWorker.run({ runId, owed });
      await lostWorker.save(runId, {
        seq: 4,
        tip: id,
        unwritten: [journalItemOf(id, entries.slice(0, 3), 2)],
      });
      const events = lostWorker.follow(runId);
      expect(await readUntil(events, 'block:started C')).toContain('block:completed B {"worker":"lost"}');
      const nextWorker = openWorker(scriptedExecutor, lostWorker.stores, { clock: new TestClock(LATER_MS) });
      return { stores: lostWorker.stores, runId, owed, nextWorker, events };
    }
    /** Returns the texts of the next events up to `lastText`. */
    const readUntil = async (events: AsyncGenerator<RunEvent>, lastText: string): Promise<string[]> => {
      const texts: string[] = [];
      while (texts.at(-1) !== lastText) {
        const { value: event } = (await events.next()) as IteratorYieldResult<RunEvent>;
        const output = event.type === 'block:completed' ? JSON.stringify(event.output) : '';
        texts.push(`${event.type} ${'log' in event ? event.log.blockName : ''} ${output}`.trim());
      }
      return texts;
    };

    it('continues with the entries that replace those of the task', async () => {
      const scriptedExecutor = new ScriptedExecutor({}, () => ({ output: { worker: 'next' } }));
      const { runId, owed, nextWorker, events } = await followLostTask(scriptedExecutor);
      const { id, entries } = await nextWorker.run({ runId, owed });
      await nextWorker.save(runId, { seq: 5, tip: id, unwritten: [journalItemOf(id, entries, 2)] });
      expect(await readUntil(events, 'run:ended')).toEqual([
        'block:completed Start {}',
        'block:started A',
        'block:completed A {"worker":"next"}',
        'block:started B',
        'block:completed B {"worker":"next"}',
        'block:started C',
        'block:completed C {"worker":"next"}',
        'run:ended',
      ]);
    });

    it('continues with the end of the run after fewer entries', async () => {
      const { runId, nextWorker, events } = await followLostTask(new ScriptedExecutor());
      const unwritten = [journalItemOf('cancelled', [{ atMs: 9, type: 'cancelled' }], 2)];
      await nextWorker.save(runId, { seq: 2, tip: 'cancelled', unwritten });
      expect(await readUntil(events, 'run:ended')).toEqual(['block:cancelled Start', 'run:ended']);
    });

    it('ignores entries of the task that do not follow from those of the run', async () => {
      const scriptedExecutor = new ScriptedExecutor({}, () => {
        throw new Error('The second attempt fails.');
      });
      const { stores, runId, owed, nextWorker } = await followLostTask(scriptedExecutor);
      const { entries } = await nextWorker.run({ runId, owed });
      await stores.runs.upsert(
        runId,
        entries.map((entry, index) => ({ ...entry, seq: index + 2 })),
      );
      expect(await stores.runs.journal(runId)).toHaveLength(4);
      const events: string[] = [];
      for await (const { type } of nextWorker.follow(runId)) events.push(type);
      expect(events.slice(-2)).toEqual(['block:failed', 'run:ended']);
    });
  });

  it('a late retry of an earlier write removes no entries that the run has written since', async () => {
    const scriptedExecutor = new ScriptedExecutor({}, ({ block: { name } }) =>
      name === 'A' ? { pause: { please: 'answer' } } : { output: { n: 1 } },
    );
    const { stores, recordRun, run, save } = openWorker(scriptedExecutor);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A -> B']);
    const { id, entries } = await run({ runId, owed });
    const pausedPosition = { seq: 3, tip: id, unwritten: [journalItemOf(id, entries, 2)] };
    await save(runId, pausedPosition);
    const { pauses: [pause] = [] } = (await stores.runs.record(runId)) ?? {};
    const resumedFields = { type: 'resumed' as const, block: 'A', scope: [], token: pause?.token ?? '' };
    const resumedEntry = { ...resumedFields, atMs: 9, input: { v: {} }, output: { v: {} } };
    await save(runId, { seq: 4, tip: 'answer', unwritten: [journalItemOf('answer', [resumedEntry], 4)] });
    await openWorker(scriptedExecutor, stores).save(runId, pausedPosition);
    expect((await stores.runs.journal(runId)).map(({ type }) => type)).toEqual([
      'started',
      'completed',
      'paused',
      'resumed',
    ]);
    expect(await stores.runs.record(runId)).toMatchObject({ status: 'running', seq: 4 });
  });
});
