import type { RunEvent } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import { describe, expect, it } from 'vitest';
import { Script } from '../support/script.ts';
import { TestClock } from '../support/test-clock.ts';
import { itemOf, openWorker } from './segment-worker.ts';

/** A time at which no block of a lost task has run. */
const LATER_MS = 5_000_000_000_000;

describe('Segments', () => {
  it('of a worker that only the server cannot reach write nothing after another worker has run their block', async () => {
    const script = new Script();
    const cutOff = openWorker(script);
    const { runId, owed } = await cutOff.recordRun(['A'], ['Start -> A']);
    const other = openWorker(new Script({}, () => ({ output: { by: 'the other' } })), cutOff.stores);
    const start = (await other.run({ runId, owed })).entries.slice(0, 1);
    const position = { seq: 2, tip: 'start block', unwritten: [itemOf('start block', start, 2)] };
    const atA = [{ type: 'run' as const, at: [(owed[0]?.at[0] ?? 0) + 1], try: 1 }];
    const request = { runId, owed: atA, position, beyond: false };
    const running = cutOff.run(request);
    const call = await script.nextCall('A');
    const { id, entries } = await other.run(request);
    await other.save(runId, { seq: 3, tip: id, unwritten: [itemOf(id, entries, 3)] });
    const written = await cutOff.stores.runs.journal(runId);
    call.done({ by: 'the worker that is cut off' });
    await running;
    await cutOff.save(runId, position);
    expect(await cutOff.stores.runs.journal(runId)).toEqual(written);
    expect(await cutOff.stores.runs.record(runId)).toMatchObject({ status: 'completed', seq: 3 });
  });

  describe('a run whose task was lost after it had written entries', () => {
    /** Records a run of A -> B -> C. A lost worker writes the entries of the start block, A and B. */
    async function loseTask() {
      const lost = openWorker(new Script({}, () => ({ output: { n: 1 } })));
      const { stores } = lost;
      const { runId, owed } = await lost.recordRun(['A', 'B', 'C'], ['Start -> A -> B -> C']);
      const { id, entries } = await lost.run({ runId, owed });
      await lost.save(runId, { seq: 4, tip: id, unwritten: [itemOf(id, entries.slice(0, 3), 2)] });
      expect(await stores.runs.record(runId)).toMatchObject({ status: 'running', seq: 4 });
      const readState = async () => ({
        record: await stores.runs.record(runId),
        journal: (await stores.runs.journal(runId)).map(({ type }) => type),
        logs: (await stores.runs.logs(runId)).map(({ blockName, status }) => `${blockName} ${status}`),
      });
      return { lost, stores, runId, owed, readState };
    }
    const workLater = (stores: SharedStores) =>
      openWorker(new Script({}, () => ({ output: { n: 2 } })), stores, { clock: new TestClock(LATER_MS) });
    /** Returns the outputs in the logs of A, B and C. */
    const outputsIn = async (stores: SharedStores, runId: string) =>
      (await stores.runs.logs(runId)).slice(1).map(({ output }) => (output as { v: unknown }).v);
    const FAILED = {
      record: { status: 'failed', seq: 3 },
      journal: ['started', 'completed', 'failed'],
      logs: ['Start completed', 'A failed'],
    };
    const fail = (): never => {
      throw new Error('The second attempt fails.');
    };

    it('ends, and its record, journal and logs show only this end', async () => {
      const { stores, runId, owed, readState } = await loseTask();
      const next = openWorker(new Script({}, fail), stores);
      expect(await next.run({ runId, owed, alone: true })).toMatchObject({ written: true });
      expect(await readState()).toMatchObject(FAILED);
    });

    it('ends in the same process', async () => {
      const { lost, stores, runId, owed, readState } = await loseTask();
      const { id, entries } = await openWorker(new Script({}, fail), stores).run({ runId, owed });
      await lost.save(runId, { seq: 3, tip: id, unwritten: [itemOf(id, entries, 2)] });
      expect(await readState()).toMatchObject(FAILED);
    });

    it('continues in the same process, which shows no result of the lost task and does not use it', async () => {
      const { lost, stores, runId, owed } = await loseTask();
      const { id, entries } = await workLater(stores).run({ runId, owed });
      await lost.save(runId, { seq: 3, tip: 'A', unwritten: [itemOf('A', entries.slice(0, 2), 2)] });
      await lost.save(runId, { seq: 5, tip: id, unwritten: [itemOf(id, entries.slice(2), 4)] });
      expect(await stores.runs.record(runId)).toMatchObject({ status: 'completed', seq: 5 });
      expect(await outputsIn(stores, runId)).toEqual([{ n: 2 }, { n: 2 }, { n: 2 }]);
    });

    it('runs its next blocks in the same process, which then saves the logs of the earlier blocks', async () => {
      const { lost, stores, runId, owed } = await loseTask();
      const { entries } = await workLater(stores).run({ runId, owed });
      const position = { seq: 3, tip: 'A', unwritten: [itemOf('A', entries.slice(0, 2), 2)] };
      const atB = [{ type: 'run' as const, at: [(owed[0]?.at[0] ?? 0) + 2], try: 1 }];
      const rest = await lost.run({ runId, owed: atB, position });
      await lost.save(runId, { seq: 5, tip: rest.id, unwritten: [itemOf(rest.id, rest.entries, 4)] });
      expect(await stores.runs.record(runId)).toMatchObject({ status: 'completed', seq: 5 });
      expect(await outputsIn(stores, runId)).toEqual([{ n: 2 }, { n: 1 }, { n: 1 }]);
    });

    it('is cancelled', async () => {
      const { stores, runId, readState } = await loseTask();
      const cancelled = { atMs: 9, type: 'cancelled', reason: 'no longer needed' } as const;
      const unwritten = [itemOf('cancelled', [cancelled], 2)];
      await openWorker(new Script(), stores).save(runId, { seq: 2, tip: 'cancelled', unwritten });
      expect(await readState()).toMatchObject({
        record: { status: 'cancelled', seq: 2 },
        journal: ['started', 'cancelled'],
        logs: ['Start cancelled'],
      });
    });

    it('is cancelled with as many entries, and keeps no logs of blocks that only the lost task has started', async () => {
      const lost = openWorker(new Script({}, () => ({ output: {} })));
      const { runId, owed } = await lost.recordRun(['A', 'B'], ['Start -> A', 'Start -> B']);
      const { id, entries } = await lost.run({ runId, owed });
      await lost.save(runId, { seq: 2, tip: id, unwritten: [itemOf(id, entries.slice(0, 1), 2)] });
      expect(await lost.stores.runs.logs(runId)).toHaveLength(3);
      const unwritten = [itemOf('cancelled', [{ atMs: 9, type: 'cancelled' }], 2)];
      await lost.save(runId, { seq: 2, tip: 'cancelled', unwritten });
      expect(await lost.stores.runs.logs(runId)).toMatchObject([{ blockName: 'Start', status: 'cancelled' }]);
    });

    it('pauses, and accepts an answer', async () => {
      const { stores, runId, owed, readState } = await loseTask();
      const next = openWorker(new Script({}, () => ({ pause: { please: 'answer' } })), stores);
      const { id, entries } = await next.run({ runId, owed });
      await next.save(runId, { seq: 3, tip: id, unwritten: [itemOf(id, entries, 2)] });
      expect(await readState()).toMatchObject({
        record: { status: 'paused', seq: 3 },
        journal: ['started', 'completed', 'paused'],
        logs: ['Start completed', 'A paused'],
      });
      expect(await next.answer(runId)).toBe(3);
    });
  });

  describe('a follower of a run whose task was lost after it had written entries', () => {
    /** Follows a run of A, B and C, and reads that A and B have completed in a task that is then lost. */
    async function followLostTask(script: Script) {
      const lost = openWorker(new Script({}, () => ({ output: { by: 'lost' } })));
      const { runId, owed } = await lost.recordRun(['A', 'B', 'C'], ['Start -> A -> B -> C']);
      const { id, entries } = await lost.run({ runId, owed });
      await lost.save(runId, { seq: 4, tip: id, unwritten: [itemOf(id, entries.slice(0, 3), 2)] });
      const events = lost.follow(runId);
      expect(await readUntil(events, 'block:started C')).toContain('block:completed B {"by":"lost"}');
      const next = openWorker(script, lost.stores, { clock: new TestClock(LATER_MS) });
      return { stores: lost.stores, runId, owed, next, events };
    }
    /** Returns the texts of the next events up to `last`. */
    const readUntil = async (events: AsyncGenerator<RunEvent>, last: string): Promise<string[]> => {
      const texts: string[] = [];
      while (texts.at(-1) !== last) {
        const { value: event } = (await events.next()) as IteratorYieldResult<RunEvent>;
        const output = event.type === 'block:completed' ? JSON.stringify(event.output) : '';
        texts.push(`${event.type} ${'log' in event ? event.log.blockName : ''} ${output}`.trim());
      }
      return texts;
    };

    it('continues with the entries that replace those of the task', async () => {
      const script = new Script({}, () => ({ output: { by: 'next' } }));
      const { runId, owed, next, events } = await followLostTask(script);
      const { id, entries } = await next.run({ runId, owed });
      await next.save(runId, { seq: 5, tip: id, unwritten: [itemOf(id, entries, 2)] });
      expect(await readUntil(events, 'run:ended')).toEqual([
        'block:completed Start {}',
        'block:started A',
        'block:completed A {"by":"next"}',
        'block:started B',
        'block:completed B {"by":"next"}',
        'block:started C',
        'block:completed C {"by":"next"}',
        'run:ended',
      ]);
    });

    it('continues with the end of the run after fewer entries', async () => {
      const { runId, next, events } = await followLostTask(new Script());
      const unwritten = [itemOf('cancelled', [{ atMs: 9, type: 'cancelled' }], 2)];
      await next.save(runId, { seq: 2, tip: 'cancelled', unwritten });
      expect(await readUntil(events, 'run:ended')).toEqual(['block:cancelled Start', 'run:ended']);
    });

    it('ignores entries of the task that do not follow from those of the run', async () => {
      const script = new Script({}, () => {
        throw new Error('The second attempt fails.');
      });
      const { stores, runId, owed, next } = await followLostTask(script);
      const { entries } = await next.run({ runId, owed });
      await stores.runs.upsert(
        runId,
        entries.map((entry, index) => ({ ...entry, seq: index + 2 })),
      );
      expect(await stores.runs.journal(runId)).toHaveLength(4);
      const events: string[] = [];
      for await (const { type } of next.follow(runId)) events.push(type);
      expect(events.slice(-2)).toEqual(['block:failed', 'run:ended']);
    });
  });

  it('a late repetition of an earlier write removes no entries that the run has written since', async () => {
    const script = new Script({}, ({ block: { name } }) =>
      name === 'A' ? { pause: { please: 'answer' } } : { output: { n: 1 } },
    );
    const { stores, recordRun, run, save } = openWorker(script);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A -> B']);
    const { id, entries } = await run({ runId, owed });
    const paused = { seq: 3, tip: id, unwritten: [itemOf(id, entries, 2)] };
    await save(runId, paused);
    const { pauses: [pause] = [] } = (await stores.runs.record(runId)) ?? {};
    const resumed = { type: 'resumed' as const, block: 'A', scope: [], token: pause?.token ?? '' };
    const answer = { ...resumed, atMs: 9, input: { v: {} }, output: { v: {} } };
    await save(runId, { seq: 4, tip: 'answer', unwritten: [itemOf('answer', [answer], 4)] });
    await openWorker(script, stores).save(runId, paused);
    expect((await stores.runs.journal(runId)).map(({ type }) => type)).toEqual([
      'started',
      'completed',
      'paused',
      'resumed',
    ]);
    expect(await stores.runs.record(runId)).toMatchObject({ status: 'running', seq: 4 });
  });
});
