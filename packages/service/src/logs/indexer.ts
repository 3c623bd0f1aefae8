import type { AreaContext } from '@heddle/api';
import { isEngineError } from '@heddle/engine';
import type { Engine, RunSummary } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { recordEvents } from '../triggers/events/outbox.ts';
import type { ServiceEvent } from '../triggers/events/outbox.ts';
import type { Triggers } from '../triggers/triggers.ts';
import { isCorruptRecord } from './corrupt-record.ts';
import { countEndedRuns, removeLogs, saveLogs } from './store.ts';
import type { EndedLog, NewLog } from './store.ts';
import type { LogStatus, LogTables } from './tables.ts';
import { changeTotals, addBatchToTotals, markAsNotInTotals } from './totals.ts';
import { callsModel, modelUsagesOf } from './usage.ts';

type Db = Kysely<LogTables>;
type IndexedEngine = Pick<Engine, 'runChanges' | 'getTrace' | 'readValue'>;

/** Maximum number of changes in one batch. Each batch is one transaction. */
const BATCH_SIZE = 200;
/** Interval at which changes are read, even if nobody reads the log. */
const POLL_INTERVAL_MS = 500;
/** Maximum number of batches that a reader of the log waits for. */
const BATCHES_PER_READ = 5;
/** Maximum number of batches of ended runs that one poll adds to the totals. */
const BATCHES_PER_POLL = 5;

interface IndexerOptions {
  engine: IndexedEngine;
  db: Db;
  repeat: AreaContext['repeat'];
  onError: (error: unknown) => void;
  now: () => number;
  /** Counts failures of the runs of triggers. */
  triggers: Pick<Triggers, 'readRunResults' | 'countRunResults'>;
}

/**
 * Indexes the runs of the engine in the table of the log. The engine stores every change until its row is committed, so
 * nothing is lost when the process dies in between. Several processes may index at the same time: a row never replaces
 * a newer one.
 */
export class LogIndexer {
  readonly #options: IndexerOptions;
  readonly #stop: () => void;
  #currentBatch: Promise<boolean> | undefined;
  #currentTotalsUpdate: Promise<void> | undefined;
  /**
   * Whether the totals may lack ended runs. Initially true, because an earlier process or version may have left some.
   */
  #totalsMayLackRuns = true;
  #isClosed = false;

  constructor(options: IndexerOptions) {
    this.#options = options;
    this.#stop = options.repeat(POLL_INTERVAL_MS, () => this.#poll());
  }

  /** Resolves when the changes made before the call are in the table, or after a few batches if there are many. */
  async update(): Promise<void> {
    // A batch that has begun may have read its changes before the call.
    await this.#currentBatch?.catch(() => undefined);
    for (
      let batchCount = 0;
      batchCount < BATCHES_PER_READ && (await this.#indexBatchOnce());
      batchCount += 1
    );
  }

  /** Indexes everything that has changed. */
  async updateAll(): Promise<void> {
    // On SQLite a batch never yields to the event loop: without this pause, requests would wait for all batches.
    while (!this.#isClosed && (await this.#indexBatchOnce())) await new Promise(setImmediate);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#currentBatch?.catch(() => undefined);
    await this.#currentTotalsUpdate?.catch(() => undefined);
  }

  /**
   * Adds ended runs to the totals of the statistics, up to a few batches, so that many old runs do not delay requests.
   * Returns whether there may be more. Until they are added, statistics read the rows of these runs.
   */
  async updateTotals(): Promise<boolean> {
    for (let batchCount = 0; batchCount < BATCHES_PER_POLL && this.#totalsMayLackRuns; batchCount += 1) {
      if (this.#isClosed) return false;
      if (batchCount > 0) await new Promise(setImmediate);
      this.#totalsMayLackRuns = false;
      try {
        if (await addBatchToTotals(this.#options.db)) this.#totalsMayLackRuns = true;
      } catch (error) {
        this.#totalsMayLackRuns = true;
        throw error;
      }
    }
    return this.#totalsMayLackRuns;
  }

  #poll(): void {
    const { onError } = this.#options;
    if (!this.#currentBatch) this.updateAll().catch(onError);
    this.#currentTotalsUpdate ??= this.updateTotals()
      .then(() => undefined, onError)
      .finally(() => {
        this.#currentTotalsUpdate = undefined;
      });
  }

  /** Indexes one batch, which concurrent callers of this process share. Returns whether there may be more. */
  #indexBatchOnce(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return (this.#currentBatch ??= this.#indexBatch().finally(() => {
      this.#currentBatch = undefined;
    }));
  }

  async #indexBatch(): Promise<boolean> {
    const { engine, db, onError, now, triggers } = this.#options;
    const batch = await engine.runChanges(BATCH_SIZE);
    const { changes } = batch;
    if (changes.length === 0) return false;
    const removedIds = changes.flatMap(({ runId, run }) => (run ? [] : [runId]));
    const runs = new Map(changes.flatMap(({ runId, run }) => (run ? [[runId, run] as const] : [])));
    const logs = await buildLogs({ engine, db, onError }, runs);
    const results = await triggers.readRunResults(db, { engine, onError }, logs);
    await db.transaction().execute(async (transaction) => {
      const totalsChange = await markAsNotInTotals(transaction, [...runs.keys(), ...removedIds]);
      await saveLogs(transaction, logs);
      const endedLogs = await countEndedRuns(transaction, logs);
      await recordEvents(transaction, endedLogs.flatMap(runEndedEvents));
      await triggers.countRunResults(transaction, endedLogs, { results, nowMs: now() });
      await removeLogs(transaction, removedIds);
      await changeTotals(transaction, totalsChange);
    });
    this.#totalsMayLackRuns = true;
    await batch.acknowledge();
    return batch.hasMore;
  }
}

/** Returns the rows of the runs, without runs of workflows that are in no workspace. */
async function buildLogs(
  { engine, db, onError }: Pick<IndexerOptions, 'engine' | 'db' | 'onError'>,
  runs: ReadonlyMap<string, RunSummary>,
): Promise<NewLog[]> {
  if (runs.size === 0) return [];
  const workflowIds = [...new Set([...runs.values()].map(({ workflowId }) => workflowId))];
  const records: ServiceRecords = {
    claims: await claimsOf(db, [...runs.keys()]),
    workspaceIds: await workspaceIdsOf(db, workflowIds),
    versions: await versionsOf(db, workflowIds),
  };
  const logs: NewLog[] = [];
  for (const [engineRunId, run] of runs) {
    const workspaceId =
      records.claims.get(engineRunId)?.workspace_id ?? records.workspaceIds.get(run.workflowId);
    if (workspaceId === undefined) continue;
    const usage = await usageOfRun({ engine, onError }, engineRunId, run);
    const identity = identityOf(engineRunId, run, records);
    logs.push({ ...identity, workspace_id: workspaceId, ...stateOf(run), ...usage });
  }
  return logs;
}

/**
 * Returns one event for a run that has completed or failed. Returns none for cancelled runs, runs that events have
 * started, and child runs.
 */
function runEndedEvents({ engine_id, workspace_id, workflow_id, ...run }: EndedLog): ServiceEvent[] {
  const { status, trigger, is_child, ended_ms } = run;
  if (trigger === 'event' || is_child === 1 || (status !== 'completed' && status !== 'failed')) return [];
  const ids = { workspaceId: workspace_id, workflowId: workflow_id, subjectId: engine_id };
  return [{ kind: 'run_ended', ...ids, happenedMs: Number(ended_ms) }];
}

/** The records of the service about the runs of a batch. */
interface ServiceRecords {
  /** By the engine's id of the run. */
  claims: ReadonlyMap<string, LogTables['claims']>;
  /** By workflow. */
  workspaceIds: ReadonlyMap<string, string>;
  /** The version numbers of the service, by `<version number of the engine> <workflow id>`. */
  versions: ReadonlyMap<string, number>;
}

function identityOf(engineRunId: string, run: RunSummary, { claims, versions }: ServiceRecords) {
  const claim = claims.get(engineRunId);
  const isChild = run.parentRunId !== null;
  return {
    engine_id: engineRunId,
    run_id: claim?.run_id ?? run.callerId ?? engineRunId,
    workflow_id: run.workflowId,
    version: run.version === null ? null : (versions.get(`${run.version} ${run.workflowId}`) ?? null),
    trigger: claim?.trigger ?? (isChild ? 'workflow' : 'api'),
    bytes: -1,
    is_child: isChild ? 1 : 0,
  };
}

function stateOf(
  run: RunSummary,
): Pick<NewLog, 'status' | 'level' | 'started_ms' | 'ended_ms' | 'duration_ms' | 'seq'> {
  return {
    status: statusOf(run.status),
    level: run.status === 'failed' ? 'error' : 'info',
    started_ms: Date.parse(run.startedAt ?? run.createdAt),
    ended_ms: run.endedAt === null ? null : Date.parse(run.endedAt),
    duration_ms: run.durationMs ?? -1,
    seq: run.seq,
  };
}

/** Returns the status in the log, in which queued and paused runs are pending. A run's overview tells them apart. */
function statusOf(status: RunSummary['status']): LogStatus {
  return status === 'paused' || status === 'queued' ? 'pending' : status;
}

/** Returns the cost of an ended run, -1 if none is known, and the models that it used. */
async function usageOfRun(
  { engine, onError }: Pick<IndexerOptions, 'engine' | 'onError'>,
  engineRunId: string,
  { endedAt, blockTypes }: RunSummary,
): Promise<{ cost: number; models: string[] }> {
  const noUsage = { cost: -1, models: [] };
  if (endedAt === null || !blockTypes.some(callsModel)) return noUsage;
  try {
    const usages = await modelUsagesOf(engine, await engine.getTrace(engineRunId));
    const costs = usages.flatMap(({ usage }) => usage.cost?.totalMicros ?? []);
    const models = [...new Set(usages.flatMap(({ usage }) => usage.model ?? []))];
    const micros = costs.reduce((sum, cost) => sum + cost, 0);
    return { cost: costs.length === 0 ? -1 : micros / 1e6, models };
  } catch (error) {
    // The run was deleted in the meantime, or one of its values cannot be read. Other runs must not wait for it.
    if (isEngineError(error)) return noUsage;
    // Other errors, such as a lost connection, may be temporary: the batch is read again.
    if (!isCorruptRecord(error)) throw error;
    // The message may quote what is stored, which may hold secrets.
    onError(
      new Error(
        `A stored record of run ${engineRunId} is corrupt: its cost and models are missing in the log`,
      ),
    );
    return noUsage;
  }
}

async function claimsOf(db: Db, engineRunIds: readonly string[]): Promise<Map<string, LogTables['claims']>> {
  const rows = await db
    .selectFrom('claims')
    .select(['engine_id', 'run_id', 'workspace_id', 'trigger'])
    .where('engine_id', 'in', engineRunIds)
    .execute();
  return new Map(rows.map((row) => [row.engine_id, row]));
}

async function workspaceIdsOf(db: Db, workflowIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('workflows')
    .select(['id', 'workspace_id'])
    .where('id', 'in', workflowIds)
    .execute();
  return new Map(rows.map((row) => [row.id, row.workspace_id]));
}

/**
 * Returns the version numbers of the service, by `<version number of the engine> <workflow id>`. If several versions
 * share a key, the newest one is returned.
 */
async function versionsOf(db: Db, workflowIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('workflow_versions')
    .select(['workflow_id', 'version', 'engine_version'])
    .where('workflow_id', 'in', workflowIds)
    .orderBy('version')
    .execute();
  return new Map(rows.map((row) => [`${row.engine_version} ${row.workflow_id}`, row.version]));
}
