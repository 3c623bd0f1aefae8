import type { Command, Event, Region } from '@heddle/core/machine';
import { describe, expect, it } from 'vitest';
import type { CarriedState } from '../messages.ts';
import { RunHistory } from './run-history.ts';

const node = (id: string, ins: number[], outs: number[]): Region['nodes'][number] => ({
  id,
  kind: 'block',
  class: 'compute',
  ins: ins.map((from) => ({ from, port: 'source' })),
  outs,
  handlesError: false,
});

/** S → A, S → B. */
const FORK: Region = { nodes: [node('S', [], [1, 2]), node('A', [0], []), node('B', [0], [])], entries: [0] };
const STARTED = { type: 'started', atMs: 1, start: 0, graceMs: 0 } as const;

const completedEvent = (at: number[], atMs = 2): Event => ({ type: 'completed', at, atMs, attempt: 1 });
const createBatch = (id: string, events: Event[]) => ({ id, chunk: { v: events.map(() => ({})) }, events });

describe('RunHistory', () => {
  const startHistory = (): RunHistory => {
    const history = new RunHistory({ skeleton: FORK, begin: { started: STARTED } });
    history.begin(STARTED);
    return history;
  };

  it('numbers batches in order, after the first entry', () => {
    const history = startHistory();
    expect(history.applyBatch(createBatch('one', [completedEvent([0])])).seq).toBe(2);
    expect(history.applyBatch(createBatch('two', [completedEvent([1]), completedEvent([2])])).seq).toBe(4);
    expect(history.position()).toMatchObject({
      seq: 4,
      tip: 'two',
      unwritten: [
        { seq: 2, id: 'one' },
        { seq: 3, id: 'two' },
      ],
    });
  });

  it('detects a run that ends with its first event', () => {
    const emptyRegion: Region = { nodes: [], entries: [] };
    const subflow = { body: emptyRegion, count: 0, limit: 9 };
    const loop = { ...node('L', [], []), kind: 'loop' as const, subflow };
    const history = new RunHistory({
      skeleton: { nodes: [loop], entries: [0] },
      begin: { started: STARTED },
    });
    history.begin(STARTED);
    expect(history.end).toMatchObject({ status: 'completed' });
  });

  it('skips late events, and lists them', () => {
    const history = startHistory();
    history.applyBatch(createBatch('one', [completedEvent([0]), completedEvent([1])]));
    expect(history.applyBatch(createBatch('late', [completedEvent([1])])).seq).toBe(0);
    expect(history.applyBatch(createBatch('half', [completedEvent([1]), completedEvent([2])])).seq).toBe(4);
    expect(history.position().unwritten).toMatchObject([{ id: 'one' }, { id: 'half', seq: 4, skip: [0] }]);
  });

  it('requires the execution of a command unless a later event of the same batch has answered it', () => {
    const history = startHistory();
    const { commands } = history.applyBatch(createBatch('one', [completedEvent([0]), completedEvent([2])]));
    expect(commands.filter((command) => history.mustExecute(command))).toEqual([
      { type: 'run', at: [1], try: 1 },
    ]);
  });

  it('drops written batches and measures unwritten ones', () => {
    const history = startHistory();
    history.applyBatch(createBatch('one', [completedEvent([0])]));
    const position = history.position();
    history.applyBatch(createBatch('two', [completedEvent([1])]));
    const { unwrittenLength } = history;
    history.markWritten(position);
    expect(history.position().unwritten).toMatchObject([{ id: 'two', seq: 3 }]);
    expect(history.unwrittenLength).toBeGreaterThan(0);
    expect(history.unwrittenLength).toBeLessThan(unwrittenLength);
    history.markWritten(history.position());
    expect([history.hasUnwrittenBatches, history.unwrittenLength]).toEqual([false, 0]);
  });

  it('behaves the same after it continues from the carried state', () => {
    const history = startHistory();
    history.applyBatch(createBatch('one', [completedEvent([0], 7), completedEvent([1], 8)]));
    const carried = JSON.parse(JSON.stringify(history.carriedState([]))) as ReturnType<
      RunHistory['carriedState']
    >;
    const nextHistory = new RunHistory({ skeleton: FORK, begin: { carried } });
    expect(nextHistory.position()).toEqual({ seq: 3, tip: 'one', unwritten: [] });
    expect(nextHistory.applyBatch(createBatch('two', [completedEvent([2])])).commands).toEqual([
      { type: 'end', status: 'completed' },
    ]);
    expect(nextHistory.end).toMatchObject({ status: 'completed' });
  });

  it('continues with the issued commands in the order in which they were issued', () => {
    const history = startHistory();
    history.applyBatch(createBatch('one', [completedEvent([0])]));
    const runCommand = (index: number): Command => ({ type: 'run', at: [index], try: 1 });
    const commandsAfterContinueAsNew = (issuedCommands: Command[]): Command[] => {
      const carried = JSON.parse(JSON.stringify(history.carriedState(issuedCommands))) as CarriedState;
      return new RunHistory({ skeleton: FORK, begin: { carried } }).carriedCommands();
    };
    expect(commandsAfterContinueAsNew([runCommand(2), runCommand(1), runCommand(2)])).toEqual([
      runCommand(2),
      runCommand(1),
    ]);
    expect(commandsAfterContinueAsNew([runCommand(2), runCommand(0)])).toEqual([
      runCommand(1),
      runCommand(2),
    ]);
    expect(history.carriedState([runCommand(1), runCommand(2)])).not.toHaveProperty('order');
  });

  it('accepts the token of a pause point until it is answered', () => {
    const history = startHistory();
    history.applyBatch(createBatch('one', [completedEvent([0])]));
    const paused: Event = { type: 'paused', at: [1], atMs: 3, attempt: 1, kind: 'human' };
    history.applyBatch({ ...createBatch('two', [paused]), tokens: { 0: 'hash' } });
    expect([history.isOpen([1], 'hash'), history.isOpen([1], 'other'), history.isOpen([2], 'hash')]).toEqual([
      true,
      false,
      false,
    ]);
    history.applyBatch(createBatch('three', [{ type: 'resumed', at: [1], atMs: 4 }]));
    expect(history.isOpen([1], 'hash')).toBe(false);
  });
});
