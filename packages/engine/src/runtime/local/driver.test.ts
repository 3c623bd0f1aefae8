import { Replica } from '@heddle/core/run';
import type { Command, Entry, EntryBody } from '@heddle/core/run';
import { describe, expect, it } from 'vitest';
import { compiled } from '../../../../../test/support/compiled.ts';
import { started } from '../../../../../test/support/run-data.ts';
import { work } from '../../../../../test/support/scripted.ts';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import { Driver } from './driver.ts';

const done = (block: string): EntryBody => ({
  type: 'completed',
  try: 1,
  startedMs: 0,
  output: { v: {} },
  block,
  scope: [],
});

/** A driver of the chain Start → A → B that notes what it does, in order; `append` stands for the store. */
function driving(append: () => Promise<void> | undefined): { driver: Driver; seen: string[] } {
  const seen: string[] = [];
  const replica = new Replica('r', compiled([work('A'), work('B')], ['Start -> A -> B']));
  replica.apply({ ...started(), start: 'Start' } as Entry);
  const show = (command: Command): string =>
    command.type === 'run' ? `run ${replica.index.placeOf(command.at).block}` : command.type;
  const driver = new Driver({
    replica,
    clock: new TestClock(5),
    append: (batch) => {
      seen.push(`write ${batch.map(({ entry }) => entry.seq).join(' ')}`);
      return append();
    },
    perform: (command) => seen.push(show(command)),
    waits: () => undefined,
    observe: (batch) => seen.push(`observe ${batch.length}`),
    broken: (error) => seen.push(`broken ${(error as Error).message}`),
    settled: () => seen.push('settled'),
  });
  return { driver, seen };
}

describe('a driver', () => {
  it('carries out what follows from an entry at once, where writing takes no time', () => {
    const { driver, seen } = driving(() => undefined);
    driver.post(done('Start'));
    expect(seen).toEqual(['write 2', 'observe 1', 'run A', 'settled']);
    expect(driver.busy).toBe(false);
  });

  it('carries out nothing before the entry is written', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { driver, seen } = driving(() => promise);
    driver.post(done('Start'));
    await Promise.resolve();
    expect(seen).toEqual(['write 2']);
    expect([driver.busy, driver.writing]).toEqual([true, true]);
    resolve();
    await driver.flushed();
    expect(seen).toEqual(['write 2', 'observe 1', 'run A', 'settled']);
    expect([driver.busy, driver.writing]).toEqual([false, false]);
  });

  it('writes what came meanwhile together, in order', async () => {
    const { driver, seen } = driving(() => Promise.resolve());
    driver.post(done('Start'));
    driver.post(done('A'));
    driver.post(done('B'));
    await driver.flushed();
    expect(seen).toEqual([
      'write 2',
      'observe 1',
      'run A',
      'write 3 4',
      'observe 2',
      'run B',
      'end',
      'settled',
    ]);
  });

  it('tells what becomes of an entry: written, void, or never taken', async () => {
    const { driver, seen } = driving(() => Promise.resolve());
    const told: string[] = [];
    const note = (name: string) => (fate: string) => void told.push(`${name} ${fate}`);
    driver.post(done('Start'), note('first'));
    driver.post(done('Start'), note('again'));
    await driver.flushed();
    driver.stop();
    driver.post(done('A'), note('late'));
    expect(told).toEqual(['first written', 'again void', 'late stopped']);
    expect(seen.filter((what) => what.startsWith('write'))).toEqual(['write 2']);
  });

  it('finishes what it is writing when it is stopped, and takes nothing more', async () => {
    const { driver, seen } = driving(() => Promise.resolve());
    const told: string[] = [];
    driver.post(done('Start'), (fate) => told.push(fate));
    driver.post(done('A'), (fate) => told.push(fate));
    driver.stop();
    await driver.flushed();
    expect(told).toEqual(['stopped', 'written']);
    expect(seen).toEqual(['write 2', 'observe 1', 'run A', 'settled']);
  });

  it('says that it is broken when an entry cannot be written, and tells who posted it', async () => {
    const { driver, seen } = driving(() => Promise.reject(new Error('full')));
    const told: string[] = [];
    driver.post(done('Start'), (fate) => told.push(fate));
    await driver.flushed();
    expect(told).toEqual(['stopped']);
    expect(seen).toEqual(['write 2', 'broken full', 'settled']);
    expect(driver.writing).toBe(false);
  });
});
