import { StatementSync } from 'node:sqlite';
import { compile, parseWorkflow } from '@heddle/core';
import type { BlockExecutor, Json } from '@heddle/core';
import { RunState } from '@heddle/core/run';
import type { Entry } from '@heddle/core/run';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createEngineOn } from '../../packages/engine/src/create.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import { collect } from '../streams/talk.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { chainOf, fanOutOf, loopOf } from './contenders/workflows.ts';
import { createCountingStores } from './counting-stores.ts';
import type { Counts } from './counting-stores.ts';

// These tests assert operation counts, not times: the writes and commands of a run, and how they grow with its size.

interface OperationCounts {
  counts: Counts;
  /** Commits of the data file while the run was executed. */
  commits: number;
  /** Commands of the machine, by type. */
  commands: { [type: string]: number };
}

/** Executes `runs` concurrent runs of the workflow, whose steps output `chars` characters each. No timer fires. */
async function countOperations(
  workflow: Json,
  options: { data?: string; chars?: number; runs?: number } = {},
): Promise<OperationCounts> {
  const { data, chars = 1, runs = 1 } = options;
  const clock = new TestClock();
  let outputCount = 0;
  const step: BlockExecutor = {
    types: ['step'],
    class: 'compute',
    execute: () => ({ output: { text: `${outputCount++}`.padEnd(chars, 'x') } }),
  };
  const storesWithCounts = createCountingStores(openStores({ data, clock }));
  const engine = await createEngineOn(storesWithCounts.stores, createRegistry(builtInExecutors, [step]), {
    clock,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const { workflow: parsed } = parseWorkflow(workflow);
  const compiled = parsed && compile(parsed, { blockTypes: [{ type: 'step', class: 'compute' }] });
  if (!compiled?.ok) throw new Error(JSON.stringify(compiled?.diagnostics));
  const { plan } = compiled;
  // Stores the plan for all later runs.
  await engine.execute({ plan });
  const initialCounts = { ...storesWithCounts.counts };
  const runSpy = vi.spyOn(StatementSync.prototype, 'run');
  const results = await Promise.all(Array.from({ length: runs }, () => engine.execute({ plan })));
  const executedStatements = runSpy.mock.contexts as StatementSync[];
  const commits = executedStatements.filter(({ sourceSQL }) => sourceSQL === 'COMMIT').length;
  runSpy.mockRestore();
  const counts = subtractCounts(storesWithCounts.counts, initialCounts);
  expect(results.map(({ status }) => status)).toEqual(Array(runs).fill('completed'));
  const journal = await storesWithCounts.stores.runs.journal(results[0]?.runId as string);
  return { counts, commits, commands: countCommands(new RunState('run', plan), journal) };
}

function subtractCounts(after: Counts, before: Counts): Counts {
  const names = Object.keys(after) as (keyof Counts)[];
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as unknown as Counts;
}

function countCommands(runState: RunState, journal: readonly Entry[]): { [type: string]: number } {
  const counts: { [type: string]: number } = {};
  for (const entry of journal)
    for (const { type } of runState.apply(entry).commands) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

it.each([10, 100])('a chain of %i blocks writes one entry and one log for each block', async (size) => {
  const { counts, commands } = await countOperations(chainOf(size));
  const blockCount = size + 1;
  expect(counts).toMatchObject({ entries: blockCount + 1, records: 1, logs: blockCount, values: 0 });
  expect(counts.writes).toBe(blockCount + 1);
  expect(commands).toEqual({ run: blockCount, end: 1 });
});

it('a run of any size makes one read: that of its record, after it has ended', async () => {
  const smallChainCounts = await countOperations(chainOf(1));
  expect(smallChainCounts.counts.reads).toBe(1);
  expect((await countOperations(chainOf(100))).counts.reads).toBe(smallChainCounts.counts.reads);
});

it.each([10, 100])('a loop of %i iterations writes one entry for each block that runs', async (count) => {
  const { counts, commands } = await countOperations(loopOf(count));
  expect(counts).toMatchObject({ entries: count + 2, logs: count + 2, records: 1 });
  expect(commands).toEqual({ run: count + 1, end: 1 });
});

it.each([10, 100])('a fan-out of %i blocks writes one entry and one log for each block', async (width) => {
  const { counts, commands } = await countOperations(fanOutOf(width));
  expect(counts).toMatchObject({ entries: width + 3, logs: width + 2, records: 1 });
  expect(counts.writes).toBe(4);
  expect(commands).toEqual({ run: width + 2, end: 1 });
});

it('a chain on disk commits each entry once, the first and the last together with the record', async () => {
  const { commits } = await countOperations(chainOf(10), { data: createDataFolder() });
  expect(commits).toBe(12);
});

it('concurrent runs share commits', async () => {
  const { commits, counts } = await countOperations(chainOf(10), { data: createDataFolder(), runs: 32 });
  expect(counts.entries).toBe(32 * 12);
  expect(commits).toBeLessThanOrEqual(13);
});

it('a fan-out on disk commits its branches together', async () => {
  const { commits } = await countOperations(fanOutOf(100), { data: createDataFolder() });
  expect(commits).toBe(4);
});

it('values over the inline limit are stored once each, and smaller values stay inline', async () => {
  expect((await countOperations(chainOf(20), { chars: 8000 })).counts.values).toBe(0);
  expect((await countOperations(chainOf(20), { chars: 10_000 })).counts.values).toBe(20);
});

it('the events of a run after `attach` are read without the journal if the run has no new entries', async () => {
  const stores = openStores({ clock: new TestClock() });
  const engine = await createEngineOn(stores, createRegistry(builtInExecutors, []), {});
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const source = workflow([block('Ask', 'human_in_the_loop', {})], ['Start -> Ask']);
  const { runId } = await engine.execute({ workflow: source });
  const attachedRun = await engine.attach(runId);
  const journalSpy = vi.spyOn(stores.runs, 'journal');
  const events = collect(attachedRun.events());
  await new Promise(setImmediate);
  expect(journalSpy).not.toHaveBeenCalled();
  await engine.resume(runId);
  expect((await events).map(({ type }) => type)).toEqual(['block:completed', 'run:ended']);
  journalSpy.mockClear();
  const laterEvents = await collect(attachedRun.events());
  expect(laterEvents.map(({ type }) => type)).toEqual(['block:completed', 'run:ended']);
  expect(journalSpy).toHaveBeenCalledTimes(1);
});
