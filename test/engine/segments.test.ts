import { randomUUID } from 'node:crypto';
import type { Clock } from '@heddle/core';
import type { Entry } from '@heddle/core/run';
import { createWorkerResources, RemoteRuns, Segments } from '@heddle/engine/runtime';
import type { Position, SegmentRequest, TimedEntry } from '@heddle/engine/runtime';
import { openStores } from '@heddle/engine/stores';
import type { RunEvent } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StallDetector } from '../../packages/engine/src/runtime/segments/stall-detector.ts';
import { log, newRun, record, startedEntry } from '../support/run-data.ts';
import { Script, work } from '../support/script.ts';
import { TestClock } from '../support/test-clock.ts';
import { workflow } from '../support/workflow.ts';

/** A time at which no block of a lost task has run. */
const LATER_MS = 5_000_000_000_000;
const START: Position = { seq: 1, tip: 'start', unwritten: [] };

/**
 * Opens a worker on shared stores, for a runtime that stores its runs in another process. The worker executes segments:
 * parts of a run between two checkpoints of the runtime.
 */
function openWorker(
  script: Script,
  stores: SharedStores = openStores(),
  { stallDetector, clock }: { stallDetector?: StallDetector; clock?: Clock } = {},
) {
  const blocks = [{ ...script.executor, class: 'compute' as const }];
  const host = createWorkerResources(stores, { blocks, ...(clock && { clock }) });
  onTestFinished(() => host.close());
  const segments = new Segments(host.parts, stallDetector);
  const remote = new RemoteRuns(host.parts);
  return {
    stores,
    /** Records a run of a workflow with these blocks and edges. Returns its id and the command of its start block. */
    async recordRun(names: string[], edges: string[]) {
      const exported = workflow(
        names.map((name) => work(name)),
        edges,
      );
      const { plan } = host.parts.definitions.compile(exported);
      const runId = randomUUID();
      await remote.record({ runId, plan, version: undefined, input: {}, start: plan.start, mocks: null });
      const first = plan.skeleton.nodes.findIndex(({ id }) => id === plan.start);
      return { runId, owed: [{ type: 'run' as const, at: [first], try: 1 }] };
    },
    run: (request: Pick<SegmentRequest, 'runId' | 'owed'> & Partial<SegmentRequest>) =>
      segments.run({
        position: START,
        beyond: true,
        softMs: 60_000,
        signal: new AbortController().signal,
        ...request,
      }),
    save: (runId: string, position: Position) => segments.save(runId, position),
    follow: (runId: string) => remote.events(runId),
    answer: async (runId: string) => (await remote.resumeAnswer(runId, { input: {} }))?.seq,
  };
}

const describeEntries = (entries: readonly TimedEntry[]): string[] =>
  entries.map((entry) => `${entry.type} ${'block' in entry ? entry.block : ''}`.trim());

function itemOf(id: string, entries: readonly TimedEntry[], seq: number) {
  return { id, seq, chunk: { v: entries as never } };
}

/** Returns stores in which another process saves the run after each read: with each entry, one more log. */
function storesWithWriter(stores: SharedStores, runId: string): SharedStores {
  let seq = 0;
  const save = (): unknown => stores.runs.saveRecord(record(runId, { seq: ++seq }), [log(runId, seq)]);
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
    await stores.runs.create(newRun('r'), startedEntry());
    const host = createWorkerResources(storesWithWriter(stores, 'r'), {});
    onTestFinished(() => host.close());
    const state = await new RemoteRuns(host.parts).readRun('r', { logs: true });
    expect(state?.logs).toHaveLength(state?.record.seq ?? 0);
  });
});

describe('Segments', () => {
  it('run every reachable block, and write no entry before its place in the journal is known', async () => {
    const script = new Script({}, () => ({ output: { n: 1 } }));
    const { stores, recordRun, run } = openWorker(script);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A -> B']);
    const { id, entries } = await run({ runId, owed });
    expect(script.calls).toEqual(['A', 'B']);
    expect(describeEntries(entries)).toHaveLength(3);
    expect(await stores.runs.journal(runId)).toHaveLength(1);
    const position = { seq: 4, tip: id, unwritten: [itemOf(id, entries, 2)] };
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
    const script = new Script({ B: () => ({ output: {} }) });
    const { recordRun, run } = openWorker(script);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A -> B']);
    const detaching = run({ runId, owed, hardMs: 1 });
    const call = await script.nextCall('A');
    const { id, entries, over } = await detaching;
    expect(over).toBe(true);
    call.done({ n: 1 });
    await new Promise(setImmediate);
    const position = { seq: 2, tip: id, unwritten: [itemOf(id, entries, 2)] };
    const afterStart = [{ type: 'run' as const, at: [(owed[0]?.at[0] ?? 0) + 1], try: 1 }];
    const claimed = await run({ runId, owed: afterStart, position });
    expect(describeEntries(claimed.entries)).toHaveLength(2);
    expect(script.calls).toEqual(['A', 'B']);
  });

  it('of a new worker continue after the entries that a lost worker reported, without repeating its blocks', async () => {
    const script = new Script({ A: () => ({ output: { n: 1 } }) });
    const lost = openWorker(script);
    const { runId, owed } = await lost.recordRun(['A', 'B', 'C'], ['Start -> A -> B -> C']);
    const reported: TimedEntry[] = [];
    const shutdown = new AbortController();
    const running = lost.run({
      runId,
      owed,
      signal: shutdown.signal,
      progress: (entries) => reported.splice(0, reported.length, ...entries),
    });
    await script.nextCall('B');
    const nextScript = new Script({}, () => ({ output: { n: 2 } }));
    const { entries } = await openWorker(nextScript, lost.stores).run({ runId, owed, done: reported });
    expect([script.calls, nextScript.calls]).toEqual([
      ['A', 'B'],
      ['B', 'C'],
    ]);
    expect(entries).toHaveLength(4);
    shutdown.abort();
    await running;
  });

  it('of a stalled worker write nothing after other workers have continued the run', async () => {
    let nowMs = 0;
    const script = new Script();
    const stalled = openWorker(script, openStores(), { stallDetector: new StallDetector(() => nowMs) });
    const { runId, owed } = await stalled.recordRun(['A'], ['Start -> A']);
    const running = stalled.run({ runId, owed, alone: true });
    const call = await script.nextCall('A');
    nowMs = 60_000;
    const other = new Script({}, () => ({ output: { by: 'the other' } }));
    expect(await openWorker(other, stalled.stores).run({ runId, owed, alone: true })).toMatchObject({
      written: true,
    });
    const written = await stalled.stores.runs.journal(runId);
    call.done({ by: 'the stalled one' });
    await expect(running).rejects.toMatchObject({ code: 'RUN_ELSEWHERE' });
    expect(await stalled.stores.runs.journal(runId)).toEqual(written);
    expect(await stalled.stores.runs.record(runId)).toMatchObject({
      status: 'completed',
      suspended: undefined,
    });
  });

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

  it('give a pause point the same token if it opens again because its result was lost', async () => {
    const script = new Script({}, () => ({ pause: { please: 'answer' } }));
    const lost = openWorker(script);
    const { runId, owed } = await lost.recordRun(['A'], ['Start -> A']);
    const { runId: otherRunId } = await lost.recordRun(['A'], ['Start -> A']);
    const tokens = [];
    for (const request of [{ runId }, { runId }, { runId: otherRunId }]) {
      const { entries } = await openWorker(script, lost.stores).run({ ...request, owed });
      tokens.push(entries.find((entry) => entry.type === 'paused')?.token);
    }
    expect(tokens[0]).toMatch(/^[\w-]{32}$/);
    expect(tokens[1]).toBe(tokens[0]);
    expect(tokens[2]).not.toBe(tokens[0]);
  });

  it('do not read the journal of a wide run again for requests that are slightly out of order', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `B${index}`);
    const script = new Script({}, () => ({ output: { n: 1 } }));
    const stores = openStores();
    const tail = stores.runs.tail.bind(stores.runs);
    let fullReads = 0;
    stores.runs.tail = (runId, seq) => {
      if (seq < 0) fullReads++;
      return tail(runId, seq);
    };
    const { recordRun, run } = openWorker(script, stores);
    const edges = names.map((name) => `Start -> ${name}`);
    const { runId, owed } = await recordRun(names, edges);
    const { entries } = await run({ runId, owed });
    const positions = entries.map((entry, index) => ({
      seq: index + 2,
      tip: `one-${index}`,
      unwritten: [itemOf(`one-${index}`, [entry], index + 2)],
    }));
    const read = (position: Position): Promise<unknown> => run({ runId, owed: [], beyond: false, position });
    for (const position of positions) await read(position);
    fullReads = 0;
    // In the order of a worker with several slots: a request is at most two positions away from its position in the
    // journal.
    for (let index = 0; index < positions.length; index += 3)
      for (const positionIndex of [index + 2, index, index + 1]) {
        const position = positions[positionIndex];
        if (position) await read({ ...position, unwritten: [] });
      }
    expect(fullReads).toBeLessThanOrEqual(3);
    expect(await stores.runs.record(runId)).toMatchObject({ status: 'completed' });
  });

  it('discard speculative entries that did not become part of the journal', async () => {
    const script = new Script({}, () => ({ output: { n: 1 } }));
    const { stores, recordRun, run } = openWorker(script);
    const { runId, owed } = await recordRun(['A', 'B'], ['Start -> A', 'Start -> B']);
    const first = await run({ runId, owed });
    // The journal has the result of another worker at this place: the start block only.
    const [start] = first.entries as [TimedEntry];
    const position = { seq: 2, tip: 'other', unwritten: [itemOf('other', [start], 2)] };
    const second = await run({ runId, owed: owed.map((command) => ({ ...command, at: [1] })), position });
    expect(await stores.runs.record(runId)).toMatchObject({ status: 'running', seq: 2 });
    expect(describeEntries(second.entries)).toHaveLength(1);
  });
});
