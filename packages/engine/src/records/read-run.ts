import type { RunHeader, Plan, RunRecord } from '@heddle/core';
import { isEnded } from '../store/journal.ts';
import type { RecordWithLogs, SharedStores } from '../store/stores.ts';
import { foldRun } from './fold.ts';
import { runNotFoundError } from './run-errors.ts';
import { newRecord } from './run-record.ts';

interface Sources {
  stores: Pick<SharedStores, 'runs'>;
  definitions: { plan(hash: string): Promise<Plan> };
}

export interface ReadRunOptions {
  /** If false, the list of logs is empty. */
  withLogs: boolean;
  /** The stored record of the run, if the caller has just read it in a list. Then it is not read again. */
  listedRecord?: RunRecord;
}

/** Returns the stored state of a run; undefined if no record is stored. Its journal may have newer entries. */
export async function readStoredRun(
  { runs }: Pick<SharedStores, 'runs'>,
  runId: string,
  { withLogs, listedRecord }: ReadRunOptions,
): Promise<RecordWithLogs | undefined> {
  if (withLogs) return runs.recordWithLogs(runId);
  const record = listedRecord ?? (await runs.record(runId));
  return record && { record, logs: [] };
}

/**
 * Returns the state of a run after its last journal entry, which may be newer than the stored record; undefined if the
 * run does not exist. If the plan or the journal cannot be read, returns the stored state of a suspended run. For any
 * other run, throws PLAN_FORMAT_UNSUPPORTED or JOURNAL_CORRUPT.
 */
export async function readRun(
  sources: Sources,
  runId: string,
  options: ReadRunOptions,
): Promise<RecordWithLogs | undefined> {
  const { runs } = sources.stores;
  const storedState = await readStoredRun(sources.stores, runId, options);
  if (storedState && isEnded(storedState.record.status)) return storedState;
  try {
    // Record and logs are stored together, after their entries: without newer entries, both are up to date.
    if (storedState && (await runs.tail(runId, storedState.record.seq)).length === 0) return storedState;
    return await foldStoredRun(sources, runId, storedState?.record.suspended);
  } catch (error) {
    // The record of a suspended run contains the reason, which may be the same error.
    if (storedState?.record.suspended !== undefined) return storedState;
    throw error;
  }
}

/** Returns the header of a run. Throws RUN_NOT_FOUND. */
export async function readHeader({ stores }: Pick<Sources, 'stores'>, runId: string): Promise<RunHeader> {
  const header = await stores.runs.header(runId);
  if (!header) throw runNotFoundError(runId);
  return header;
}

/** Returns the header and the plan of a run. Throws RUN_NOT_FOUND, PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT. */
export async function readDefinition(
  sources: Sources,
  runId: string,
): Promise<{ header: RunHeader; plan: Plan }> {
  const header = await readHeader(sources, runId);
  return { header, plan: await sources.definitions.plan(header.planHash) };
}

/**
 * Writes the reason why a run does not continue to its record, unless the run has ended. If the journal can be read,
 * brings the record and the logs up to date with it.
 */
export async function recordSuspension(sources: Sources, runId: string, reason: string): Promise<void> {
  const { runs } = sources.stores;
  const storedRecord = await runs.record(runId);
  if (storedRecord && isEnded(storedRecord.status)) return;
  const run = await foldStoredRun(sources, runId, reason).catch(() => undefined);
  if (run) await runs.saveRecord(run.record, run.logs);
  else {
    const record = storedRecord ?? (await recordWithoutPlan(sources, runId));
    if (record) await runs.saveRecord({ ...record, suspended: reason }, []);
  }
}

async function foldStoredRun(
  sources: Sources,
  runId: string,
  suspensionReason: string | undefined,
): Promise<RecordWithLogs | undefined> {
  const { runs } = sources.stores;
  const header = await runs.header(runId);
  if (!header) return undefined;
  const plan = await sources.definitions.plan(header.planHash);
  return foldRun({ header, plan, suspensionReason }, await runs.journal(runId));
}

/** Returns the record of a run whose plan cannot be read, from its header and its first entry. */
async function recordWithoutPlan(
  { stores: { runs } }: Sources,
  runId: string,
): Promise<RunRecord | undefined> {
  const header = await runs.header(runId);
  const [firstEntry] = await runs.journal(runId);
  if (!header || firstEntry?.type !== 'started') return undefined;
  const { atMs: startedMs, input, seq } = firstEntry;
  return newRecord(header, { workflowName: header.workflowId, startedMs, input, seq });
}
