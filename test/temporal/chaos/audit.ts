import { isDeepStrictEqual } from 'node:util';
import { readPlan } from '@heddle/core';
import type { RunHeader, Plan, RunRecord } from '@heddle/core';
import { RunState } from '@heddle/core/run';
import type { BlockLog, Entry } from '@heddle/core/run';
import type { SharedStores } from '@heddle/engine/stores';
import { recordOf } from '../../../packages/engine/src/records/run-record.ts';

/** Counts and problems in the journals of all runs. */
export interface JournalAudit {
  runCount: number;
  entryCount: number;
  /** The number of ends (completed or failed) of each attempt of a block, by `key#try`. */
  endCounts: Map<string, number>;
  /** The attempts that call the effect server. */
  effectAttempts: Set<string>;
  /** The number of answers to each pause, by token. */
  answerCounts: Map<string, number>;
  /** Problems of the runs; expected to be empty. */
  problems: string[];
}

/** Types of the blocks that call the effect server. */
const EFFECT_TYPES: ReadonlySet<string> = new Set(['effect', 'compute']);

/** Reads every run in the stores and compares its journal, its record and its logs with each other. */
export async function audit(stores: SharedStores): Promise<JournalAudit> {
  const result: JournalAudit = {
    runCount: 0,
    entryCount: 0,
    endCounts: new Map(),
    effectAttempts: new Set(),
    answerCounts: new Map(),
    problems: [],
  };
  let cursor: string | undefined;
  do {
    const page = await stores.runs.list({ limit: 100, ...(cursor !== undefined && { cursor }) });
    for (const record of page.runs) await auditRun(stores, record, result);
    cursor = page.cursor;
  } while (cursor !== undefined);
  for (const runId of await stores.runs.unfinishedRunIds())
    result.problems.push(`${runId}: the run has not ended`);
  return result;
}

async function auditRun(
  { runs, definitions }: SharedStores,
  record: RunRecord,
  result: JournalAudit,
): Promise<void> {
  const { runId } = record;
  const header = (await runs.header(runId)) as RunHeader;
  const entries = await runs.journal(runId);
  result.runCount++;
  result.entryCount += entries.length;
  const plan = readPlan((await definitions.plan(header.planHash)) ?? null);
  for (const entry of entries) countEntry({ runId, plan, entry }, result);
  const reportProblem = (problem: string): void => void result.problems.push(`${runId}: ${problem}`);
  const runState = new RunState(runId, plan);
  const expectedLogs = foldLogs(runState, entries, reportProblem);
  if (!isEqual(recordOf(runState, header, undefined), record))
    reportProblem(
      `the record (${record.status}, ${record.seq}) does not match the journal of ${entries.length} entries`,
    );
  const logs = (await runs.logs(runId)).toSorted((a, b) => a.executionOrder - b.executionOrder);
  if (!isEqual(expectedLogs, logs))
    reportProblem(`${logs.length} logs do not match the ${expectedLogs.length} logs of the journal`);
  for (const { blockName, status } of logs)
    if (status === 'running' || status === 'paused')
      reportProblem(`the log of ${blockName} has the status ${status}`);
}

function countEntry(
  { runId, plan, entry }: { runId: string; plan: Plan; entry: Entry },
  result: JournalAudit,
): void {
  const increment = (map: Map<string, number>, key: string): unknown => map.set(key, (map.get(key) ?? 0) + 1);
  if (entry.type === 'resumed') increment(result.answerCounts, entry.token);
  if (entry.type !== 'completed' && entry.type !== 'failed') return;
  const attemptKey = `${[runId, entry.block, ...entry.scope].join('/')}#${entry.try}`;
  increment(result.endCounts, attemptKey);
  if (EFFECT_TYPES.has(plan.blocks[entry.block]?.type ?? '')) result.effectAttempts.add(attemptKey);
}

/** Applies the entries to the state of the run. Returns the block logs that follow from them. */
function foldLogs(
  runState: RunState,
  entries: readonly Entry[],
  reportProblem: (problem: string) => void,
): BlockLog[] {
  const logs = new Map<number, BlockLog>();
  entries.forEach((entry, index) => {
    if (entry.seq !== index + 1) reportProblem(`entry ${index + 1} has the number ${entry.seq}`);
    const result = runState.apply(entry);
    if (!result.changed)
      reportProblem(`entry ${entry.seq} (${entry.type}) does not follow from the entries before it`);
    for (const log of result.logs) logs.set(log.executionOrder, log);
  });
  return [...logs.values()].toSorted((a, b) => a.executionOrder - b.executionOrder);
}

/** Returns whether the values are equal. An undefined property equals an absent one. */
function isEqual(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));
}
