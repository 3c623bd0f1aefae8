import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { SharedStores } from '@heddle/engine/stores';
import { audit } from './audit.ts';
import type { EffectServer } from './effect-server.ts';
import type { Fleet } from './fleet.ts';
import { findRepeatedCalls } from './repeats.ts';
import type { FaultRecord } from './faults.ts';

/** The state after a chaos test. */
export interface ChaosResult {
  stores: SharedStores;
  fleet: Fleet;
  effectServer: EffectServer;
  outcome: FaultRecord;
}

/** Statistics of a chaos test, with the number of repeated calls. */
export interface ChaosStats {
  runs: number;
  childRuns: number;
  workersKilled: number;
  serversKilled: number;
  blocksEnded: number;
  journalEntries: number;
  effects: number;
  effectCalls: number;
  repeatedForWorker: number;
  repeatedForServer: number;
  computeCalls: number;
  computeRepeated: number;
  pauses: number;
  answersRepeated: number;
  startsRefused: number;
}

/**
 * Writes the statistics to the file that HEDDLE_CHAOS_FIGURES names, if it is set. docs/reliability.md has the
 * statistics of a full run.
 */
export function writeStats(stats: ChaosStats): void {
  const { HEDDLE_CHAOS_FIGURES: file } = process.env;
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(stats, null, 2)}\n`);
}

/** Expects that no call was lost or recorded twice. Returns the statistics. */
export async function expectNothingLost({
  stores,
  fleet,
  effectServer,
  outcome,
}: ChaosResult): Promise<ChaosStats> {
  const journalAudit = await audit(stores);
  expect(outcome.unexpectedErrors).toEqual([]);
  expect(journalAudit.problems).toEqual([]);
  expect(fleet.unexpectedExits).toEqual([]);
  for (const { runId, testWorkflow } of outcome.runs) {
    const record = await stores.runs.record(runId);
    expect(record, `${runId}, ${testWorkflow.name}`).toMatchObject({
      status: 'completed',
      output: { v: testWorkflow.output },
    });
  }
  const unexpectedCounts = [...journalAudit.endCounts, ...journalAudit.answerCounts].filter(
    ([, count]) => count !== 1,
  );
  expect(unexpectedCounts).toEqual([]);

  const { calls } = effectServer;
  const calledAttempts = new Set(calls.map(({ key, try: attempt }) => `${key}#${attempt}`));
  // Every call must be in a journal, and every journal entry must have a call.
  expect([...calledAttempts].toSorted()).toEqual([...journalAudit.effectAttempts].toSorted());

  const repeats = findRepeatedCalls(calls, { killedWorkers: fleet.killedWorkers, outages: outcome.outages });
  expect(repeats.filter(({ cause }) => cause === undefined)).toEqual([]);
  const countCalls = (kind: string): number => calls.filter((call) => call.kind === kind).length;
  const countAttempts = (kind: string): number =>
    new Set(calls.filter((call) => call.kind === kind).map((call) => `${call.key}#${call.try}`)).size;
  const repeatedEffects = repeats.filter(({ previousCall }) => previousCall.kind === 'effect');
  return {
    runs: outcome.runs.length,
    childRuns: journalAudit.runCount - outcome.runs.length,
    workersKilled: fleet.killedWorkers.length,
    serversKilled: outcome.outages.length,
    blocksEnded: journalAudit.endCounts.size,
    journalEntries: journalAudit.entryCount,
    effects: countAttempts('effect'),
    effectCalls: countCalls('effect'),
    repeatedForWorker: repeatedEffects.filter(({ cause }) => cause === 'worker').length,
    repeatedForServer: repeatedEffects.filter(({ cause }) => cause === 'server').length,
    computeCalls: countCalls('compute'),
    computeRepeated: countCalls('compute') - countAttempts('compute'),
    pauses: journalAudit.answerCounts.size,
    answersRepeated: [...outcome.answerCounts.values()].filter((count) => count > 1).length,
    startsRefused: outcome.refusedStartCount,
  };
}
