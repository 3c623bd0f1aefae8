import type { BlockLog, Json, PausePoint, RunRecord, RunStore } from '@heddle/core';
import { isJsonObject, normalizeName } from '@heddle/core/blocks';
import { isEngineError } from '@heddle/core';
import type { StoredValue } from '@heddle/core/run';
import { mapMaybePromise } from './map-maybe-promise.ts';
import type { Values } from './records/values.ts';
import { isEnded } from './store/journal.ts';
import type { RunListQuery, LogDetail, RunDetail, RunResource } from './types.ts';

/**
 * Returns the run in the form of the API. `select` lists the values for `blockOutputs`, each as `block` or
 * `block.path`.
 */
export async function resourceOf(
  record: RunRecord,
  values: Values,
  selection: { select?: readonly string[] | undefined; logs?: readonly BlockLog[] } = {},
): Promise<RunResource> {
  const output = outputOf(record, values);
  const { error, startedMs, endedMs } = record;
  return {
    runId: record.runId,
    workflowId: record.workflowId,
    status: record.status,
    output: output instanceof Promise ? await output : output,
    blockOutputs: selection.select
      ? await selectOutputs(selection.select, selection.logs ?? [], values)
      : null,
    error: error ? { code: error.code, message: error.message, details: failureDetails(error) } : null,
    startedAt: toIso(startedMs),
    endedAt: toIso(endedMs),
    durationMs: startedMs === undefined || endedMs === undefined ? null : endedMs - startedMs,
  };
}

/**
 * Returns the run's output; for a paused run, the output of the only pause point that waits for a person, else an
 * object with the outputs of all such pause points.
 */
function outputOf(record: RunRecord, values: Values): Json | Promise<Json> {
  if (record.status === 'paused') {
    const humanPauses = record.pauses.filter((pause) => pause.kind === 'human');
    const [firstPause] = humanPauses;
    if (firstPause && humanPauses.length === 1) return values.load(firstPause.output);
    return Promise.all(humanPauses.map(async (pause) => values.load(pause.output))).then((pausedBlocks) => ({
      pausedBlocks,
      pauseCount: humanPauses.length,
    }));
  }
  if (!record.output) return record.status === 'failed' || record.status === 'cancelled' ? {} : null;
  return finalOutput(record.output, values);
}

/**
 * Returns the run's output with its values loaded. If a container ends the run, the output includes the container's
 * control fields.
 */
export function finalOutput(storedOutput: StoredValue, values: Values): Json | Promise<Json> {
  return mapMaybePromise(values.load(storedOutput), (value) =>
    'results' in storedOutput && storedOutput.control && isJsonObject(value)
      ? { ...value, ...storedOutput.control }
      : value,
  );
}

function failureDetails(error: NonNullable<RunRecord['error']>): Json {
  return {
    ...(isJsonObject(error.details)
      ? error.details
      : error.details === undefined
        ? {}
        : { details: error.details }),
    ...(error.blockId !== undefined && { blockId: error.blockId }),
    ...(error.blockName !== undefined && { blockName: error.blockName }),
    ...(error.blockType !== undefined && { blockType: error.blockType }),
    ...(error.scope && error.scope.length > 0 && { scope: error.scope }),
  };
}

async function selectOutputs(
  paths: readonly string[],
  logs: readonly BlockLog[],
  values: Values,
): Promise<{ [path: string]: Json }> {
  const selectedEntries: [string, Json][] = [];
  for (const path of paths) selectedEntries.push([path, await valueAt(path, logs, values)]);
  return Object.fromEntries(selectedEntries);
}

/** Returns the value at `block.path` in the block's latest output, or null. */
async function valueAt(path: string, logs: readonly BlockLog[], values: Values): Promise<Json> {
  const [blockIdOrName = '', ...steps] = path.split('.');
  const wantedName = normalizeName(blockIdOrName);
  const log = logs.findLast(
    (blockLog) =>
      (blockLog.blockId === blockIdOrName || normalizeName(blockLog.blockName) === wantedName) &&
      blockLog.output,
  );
  if (!log?.output) return null;
  let value: Json | undefined = await values.load(log.output);
  for (const step of steps) {
    if (Array.isArray(value)) value = value[Number(step)];
    else value = isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value ?? null;
}

/** Returns all data of a run except its logs. */
export async function detailOf(
  record: RunRecord,
  values: Values,
  selection: { select?: readonly string[] | undefined; logs?: readonly BlockLog[] } = {},
): Promise<RunDetail> {
  return {
    ...(await resourceOf(record, values, selection)),
    callerId: record.callerId ?? null,
    workflowName: record.workflowName,
    createdAt: new Date(record.createdMs).toISOString(),
    pauseKind: record.pauseKind ?? null,
    pauses: await Promise.all(record.pauses.map((pause) => pauseDetail(pause, values))),
    resumedCount: record.resumedCount ?? 0,
    parentRunId: record.parentRunId ?? null,
    suspended: record.suspended ?? null,
  };
}

/** Returns block logs with their values loaded. Throws VALUE_MISSING. */
export function logDetails(logs: readonly BlockLog[], values: Values): Promise<LogDetail[]> {
  const load = (storedValue: StoredValue | undefined): Json | Promise<Json> =>
    storedValue ? values.load(storedValue) : null;
  return Promise.all(
    logs.map(async (log) => ({ ...log, input: await load(log.input), output: await load(log.output) })),
  );
}

/** Returns a page of runs. `read` returns the current state of a run whose stored record was listed. */
export async function listDetails(
  { runs, values, read }: { runs: Pick<RunStore, 'list'>; values: Values; read: ReadRun },
  { status, ...query }: RunListQuery,
): Promise<{ runs: RunDetail[]; nextCursor: string | null }> {
  const page = await runs.list({ ...query, ...(status && { status: [...status] }) });
  const details = await Promise.all(
    page.runs.map(async (storedRecord) => {
      const record = await currentRecord(storedRecord, read);
      // A run whose status has changed since it was stored stays in the page, because callers compute the next cursor
      // from the number of runs in the page.
      const isMatch = !status || status.includes(record.status);
      return detailOf(isMatch ? record : storedRecord, values);
    }),
  );
  return { runs: details, nextCursor: page.cursor ?? null };
}

/** The errors of a run whose plan or journal cannot be read. */
const UNREADABLE_RUN_CODES: ReadonlySet<string> = new Set(['JOURNAL_CORRUPT', 'PLAN_FORMAT_UNSUPPORTED']);

type ReadRun = (listedRecord: RunRecord) => Promise<{ record: RunRecord } | undefined>;

/** Returns the current record of a listed run; the stored one if the journal or the plan of the run cannot be read. */
async function currentRecord(storedRecord: RunRecord, read: ReadRun): Promise<RunRecord> {
  if (isEnded(storedRecord.status)) return storedRecord;
  try {
    return (await read(storedRecord))?.record ?? storedRecord;
  } catch (error) {
    if (isEngineError(error) && UNREADABLE_RUN_CODES.has(error.code)) return storedRecord;
    throw error;
  }
}

async function pauseDetail(pause: PausePoint, values: Values): Promise<RunDetail['pauses'][number]> {
  const { token, blockId, blockName, scope, kind, inputFormat } = pause;
  const output = await values.load(pause.output);
  return {
    token,
    blockId,
    blockName,
    scope,
    kind,
    pausedAt: toIso(pause.pausedMs) ?? '',
    resumesAt: toIso(pause.dueMs),
    output,
    inputFormat,
  };
}

/** The time that was formatted last: short runs start and end in the same millisecond. */
let lastTime = { ms: 0, text: new Date(0).toISOString() };

function toIso(ms: number | undefined): string | null {
  if (ms === undefined) return null;
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() };
  return lastTime.text;
}
