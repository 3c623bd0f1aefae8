import { RunState } from '@heddle/core/run';
import type { Command, Entry, EntryBody } from '@heddle/core/run';
import { describe, expect, it } from 'vitest';
import { compilePlan } from '../../../../../test/support/compile-plan.ts';
import { createStartedEntry } from '../../../../../test/support/run-data.ts';
import { work } from '../../../../../test/support/scripted-executor.ts';
import { parallel } from '../../../../../test/support/workflow.ts';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import { Driver } from './driver.ts';

const completedEntry = (block: string): EntryBody => ({
  type: 'completed',
  try: 1,
  startedMs: 0,
  output: { v: {} },
  block,
  scope: [],
});

interface StartedDriver {
  driver: Driver;
  calls: string[];
  /** Commands of the run's first entry. */
  commands: Command[];
}

/**
 * Returns a driver that logs its calls in order. `append` stands for the store. `autoComplete`: blocks end as soon as
 * they run.
 */
function startDriver(
  append: () => Promise<void> | undefined,
  { plan = compilePlan([work('A'), work('B')], ['Start -> A -> B']), autoComplete = false } = {},
): StartedDriver {
  const calls: string[] = [];
  const runState = new RunState('r', plan);
  const { commands } = runState.apply({ ...createStartedEntry(), start: plan.start } as Entry);
  const execute = (command: Command): void => {
    if (command.type !== 'run') return void calls.push(command.type);
    const place = runState.index.placeOf(command.at);
    calls.push(`run ${[place.block, ...place.scope].join('.')}`);
    if (autoComplete) driver.post({ ...completedEntry(place.block), scope: place.scope } as EntryBody);
  };
  const driver = new Driver({
    runState,
    clock: new TestClock(5),
    append: (batch) => {
      calls.push(`write ${batch.map(({ entry }) => entry.seq).join(' ')}`);
      return append();
    },
    execute,
    onYield: () => undefined,
    onWritten: (batch) => calls.push(`written ${batch.length}`),
    onError: (error) => calls.push(`error ${(error as Error).message}`),
    onIdle: () => calls.push('idle'),
  });
  return { driver, calls, commands };
}

describe('Driver', () => {
  it('executes the commands of an entry synchronously if the write is synchronous', () => {
    const { driver, calls } = startDriver(() => undefined);
    driver.post(completedEntry('Start'));
    expect(calls).toEqual(['write 2', 'written 1', 'run A', 'idle']);
    expect(driver.isBusy).toBe(false);
  });

  it('begins all commands of the first entry before it applies the result of one (R6)', () => {
    const plan = compilePlan(
      [parallel('P', { parallelType: 'count', count: 2 }, work('A'), work('B'))],
      ['Start -> P -> A -> B'],
    );
    const { driver, calls, commands } = startDriver(() => undefined, {
      plan: { ...plan, start: 'P' },
      autoComplete: true,
    });
    driver.begin(commands);
    expect(calls.filter((call) => call.startsWith('run'))).toEqual([
      'run A.0',
      'run A.1',
      'run B.0',
      'run B.1',
    ]);
    expect(calls.at(-1)).toBe('idle');
    expect(driver.isBusy).toBe(false);
  });

  it('reports that it is idle after a first entry that ends the run', () => {
    const { driver, calls } = startDriver(() => undefined);
    driver.begin([{ type: 'end', status: 'completed' }]);
    expect(calls).toEqual(['end', 'idle']);
  });

  it('executes no command before the entry is written', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { driver, calls } = startDriver(() => promise);
    driver.post(completedEntry('Start'));
    await Promise.resolve();
    expect(calls).toEqual(['write 2']);
    expect([driver.isBusy, driver.isWriting]).toEqual([true, true]);
    resolve();
    await driver.whenFlushed();
    expect(calls).toEqual(['write 2', 'written 1', 'run A', 'idle']);
    expect([driver.isBusy, driver.isWriting]).toEqual([false, false]);
  });

  it('writes entries that arrive during a write as one batch, in order', async () => {
    const { driver, calls } = startDriver(() => Promise.resolve());
    driver.post(completedEntry('Start'));
    driver.post(completedEntry('A'));
    driver.post(completedEntry('B'));
    await driver.whenFlushed();
    expect(calls).toEqual([
      'write 2',
      'written 1',
      'run A',
      'write 3 4',
      'written 2',
      'run B',
      'end',
      'idle',
    ]);
  });

  it('reports whether an entry was written, ignored or dropped', async () => {
    const { driver, calls } = startDriver(() => Promise.resolve());
    const results: string[] = [];
    const listenerFor = (name: string) => (result: string) => void results.push(`${name} ${result}`);
    driver.post(completedEntry('Start'), listenerFor('first'));
    driver.post(completedEntry('Start'), listenerFor('again'));
    await driver.whenFlushed();
    driver.stop();
    driver.post(completedEntry('A'), listenerFor('late'));
    expect(results).toEqual(['first written', 'again ignored', 'late stopped']);
    expect(calls.filter((call) => call.startsWith('write'))).toEqual(['write 2']);
  });

  it('finishes the current write after a stop, and drops further entries', async () => {
    const { driver, calls } = startDriver(() => Promise.resolve());
    const results: string[] = [];
    driver.post(completedEntry('Start'), (result) => results.push(result));
    driver.post(completedEntry('A'), (result) => results.push(result));
    driver.stop();
    await driver.whenFlushed();
    expect(results).toEqual(['stopped', 'written']);
    expect(calls).toEqual(['write 2', 'written 1', 'run A', 'idle']);
  });

  it('reports a failed write to the run and to the caller who posted the entry', async () => {
    const { driver, calls } = startDriver(() => Promise.reject(new Error('full')));
    const results: string[] = [];
    driver.post(completedEntry('Start'), (result) => results.push(result));
    await driver.whenFlushed();
    expect(results).toEqual(['stopped']);
    expect(calls).toEqual(['write 2', 'error full', 'idle']);
    expect(driver.isWriting).toBe(false);
  });
});
