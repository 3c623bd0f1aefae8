import type { Clock, Json, Plan, RunRecord } from '@heddle/core';
import { systemClock } from '../clock.ts';
import { readStoredPlan } from '../definitions.ts';
import { follow } from '../records/follow.ts';
import { readDefinition, readHeader, readRun } from '../records/read-run.ts';
import { runNotFoundError } from '../records/run-errors.ts';
import { Values } from '../records/values.ts';
import { detailOf, listDetails, logDetails } from '../resource.ts';
import { waitForOutcome } from '../store/control.ts';
import type { ControlOutcome, ControlStore, NewControlRequest } from '../store/control.ts';
import { isOwned, isShared, ownedRunFilter } from '../store/lock.ts';
import { openLeasedStores } from '../store/open-postgres.ts';
import { openStores } from '../store/open.ts';
import type { PostgresOptions } from '../store/postgres/open.ts';
import type { RecordWithLogs, SharedStores, Stores } from '../store/stores.ts';
import type { RunListQuery, LogDetail, RunDetail, RunEvent } from '../types.ts';

/** A run as seen by a process that does not execute it. */
export interface ObservedRun extends RunDetail {
  /** True if no process executes the run, although it has neither ended nor paused for human input. */
  interrupted: boolean;
}

/** The outcome of a request; `waiting`: the request has no outcome yet and stays open. */
export type ControlReply = ControlOutcome | { status: 'waiting' };

/**
 * Reads runs that other processes execute, or that no process executes. The methods throw PLAN_FORMAT_UNSUPPORTED or
 * JOURNAL_CORRUPT for a run whose plan or journal cannot be read.
 */
export interface RunReader {
  listRuns(query?: RunListQuery): Promise<{ runs: ObservedRun[]; nextCursor: string | null }>;
  /** Throws RUN_NOT_FOUND. */
  getRun(runId: string, options?: { select?: readonly string[] }): Promise<ObservedRun>;
  /** Throws RUN_NOT_FOUND. */
  getLogs(runId: string): Promise<LogDetail[]>;
  /**
   * Returns the reason that was given for the run's cancellation; undefined if there is none or the run was not
   * cancelled.
   */
  cancelReason(runId: string): Promise<string | undefined>;
  /** Returns the mocks of the run; null: none. Throws RUN_NOT_FOUND. */
  mocksOf(runId: string): Promise<Json>;
  /** Returns the plan of the run. Throws RUN_NOT_FOUND. */
  planOf(runId: string): Promise<Plan>;
  /**
   * Returns all past and future events of the run, until it ends, waits for a person, or no process can execute it.
   * Throws RUN_NOT_FOUND.
   */
  follow(runId: string): AsyncIterable<RunEvent>;
  close(): Promise<void> | void;
}

/** Reads a data folder, even if no process owns it, and sends requests to the owner. */
export interface FolderClient extends RunReader {
  /** True while a process owns the folder. */
  isOwned(): boolean;
  /** Stores a request for the owner or, without one, for the next owner. */
  addRequest(request: NewControlRequest): Promise<void>;
  /** Adds a request and waits for its outcome, at most `timeoutMs`. */
  request(request: NewControlRequest, timeoutMs: number): Promise<ControlReply>;
  close(): void;
}

/** Returns a client of the data folder. A missing folder reads as empty. Throws DATA_FORMAT_UNSUPPORTED. */
export function openFolderClient(dataFolder: string, clock: Clock = systemClock): FolderClient {
  return new StoreFolderClient(dataFolder, openStores({ data: dataFolder, readOnly: true, clock }), clock);
}

/** Returns a reader of the runs in a PostgreSQL database. Throws the errors of `openPostgres`. */
export async function openPostgresReader(
  options: PostgresOptions,
  clock: Clock = systemClock,
): Promise<RunReader> {
  const stores = await openLeasedStores(options);
  return new StoreRunReader(stores, {
    clock,
    // The processes may run on other machines, so it is unknown whether one exists.
    mayContinue: () => true,
    findUnowned: (runIds) => stores.leases.findUnownedRuns(runIds),
  });
}

/** Information about the processes that execute the runs. */
interface OwnershipInfo {
  clock: Clock;
  /** True while a process may execute a run. */
  mayContinue: () => boolean;
  /** Returns those of the runs that no process executes. */
  findUnowned: (runIds: readonly string[]) => Promise<string[]>;
}

class StoreRunReader implements RunReader {
  readonly #sources: { stores: SharedStores; definitions: { plan(hash: string): Promise<Plan> } };
  readonly #values: Values;
  readonly #ownership: OwnershipInfo;

  constructor(stores: SharedStores, ownership: OwnershipInfo) {
    this.#sources = { stores, definitions: { plan: (hash) => readStoredPlan(stores.definitions, hash) } };
    this.#values = new Values(stores.values);
    this.#ownership = ownership;
  }

  async listRuns(query: RunListQuery = {}): Promise<{ runs: ObservedRun[]; nextCursor: string | null }> {
    const { runs: store } = this.#sources.stores;
    const read = (listedRecord: RunRecord) =>
      readRun(this.#sources, listedRecord.runId, { withLogs: false, listedRecord });
    const { runs, nextCursor } = await listDetails({ runs: store, values: this.#values, read }, query);
    return { runs: await this.#toObservedRuns(runs), nextCursor };
  }

  async getRun(runId: string, { select }: { select?: readonly string[] } = {}): Promise<ObservedRun> {
    const { record, logs } = await this.#read(runId, select !== undefined);
    const [run] = await this.#toObservedRuns([await detailOf(record, this.#values, { select, logs })]);
    if (!run) throw runNotFoundError(runId);
    return run;
  }

  async #toObservedRuns(runs: readonly RunDetail[]): Promise<ObservedRun[]> {
    const activeRuns = runs.filter(({ endedAt, pauseKind }) => endedAt === null && pauseKind !== 'human');
    const unownedRunIds =
      activeRuns.length === 0 ? [] : await this.#ownership.findUnowned(activeRuns.map(({ runId }) => runId));
    return runs.map((run) => ({ ...run, interrupted: unownedRunIds.includes(run.runId) }));
  }

  async cancelReason(runId: string): Promise<string | undefined> {
    const entries = await this.#sources.stores.runs.journal(runId);
    const entry = entries.findLast(({ type }) => type === 'cancelled');
    return entry?.type === 'cancelled' ? entry.reason : undefined;
  }

  async mocksOf(runId: string): Promise<Json> {
    return (await readHeader(this.#sources, runId)).mocks;
  }

  async getLogs(runId: string): Promise<LogDetail[]> {
    const { logs } = await this.#read(runId, true);
    return logDetails(logs, this.#values);
  }

  async planOf(runId: string): Promise<Plan> {
    return (await readDefinition(this.#sources, runId)).plan;
  }

  async *follow(runId: string): AsyncGenerator<RunEvent> {
    const definition = await readDefinition(this.#sources, runId);
    const { clock, mayContinue } = this.#ownership;
    yield* follow({ ...this.#sources, values: this.#values, clock, mayContinue }, definition);
  }

  close(): Promise<void> | void {
    return this.#sources.stores.close();
  }

  async #read(runId: string, withLogs: boolean): Promise<RecordWithLogs> {
    const run = await readRun(this.#sources, runId, { withLogs });
    if (!run) throw runNotFoundError(runId);
    return run;
  }
}

class StoreFolderClient extends StoreRunReader implements FolderClient {
  readonly #dataFolder: string;
  readonly #control: ControlStore;
  readonly #clock: Clock;
  readonly #close: () => void;

  constructor(dataFolder: string, stores: Stores, clock: Clock) {
    super(stores, {
      clock,
      mayContinue: () => isOwned(dataFolder) || isShared(dataFolder),
      findUnowned: (runIds) => findUnownedRunIds(stores, runIds, ownedRunFilter(dataFolder)),
    });
    this.#dataFolder = dataFolder;
    this.#control = stores.control;
    this.#clock = clock;
    this.#close = () => stores.close();
  }

  override close(): void {
    this.#close();
  }

  isOwned(): boolean {
    return isOwned(this.#dataFolder);
  }

  async addRequest(request: NewControlRequest): Promise<void> {
    await this.#control.add(request);
  }

  async request(request: NewControlRequest, timeoutMs: number): Promise<ControlReply> {
    const id = await this.#control.add(request);
    const outcome = await waitForOutcome(this.#control, id, { clock: this.#clock, timeoutMs });
    if (!outcome) return { status: 'waiting' };
    // The outcome counts even if the request cannot be removed: `prune` removes it later.
    await this.#control.remove(id).catch(() => undefined);
    return outcome;
  }
}

/**
 * Returns those of the runs that the owner of the folder does not execute. Runs of other runtimes are omitted, because
 * their workers may be anywhere.
 */
async function findUnownedRunIds(
  { runs }: Stores,
  runIds: readonly string[],
  isOwnersRun: ReturnType<typeof ownedRunFilter> = () => false,
): Promise<string[]> {
  const headers = await Promise.all(runIds.map(async (runId) => runs.header(runId)));
  return headers.flatMap((header) =>
    header && !header.elsewhere && !isOwnersRun(header.runId, header.createdMs) ? [header.runId] : [],
  );
}
