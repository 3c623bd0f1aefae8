import { EngineError, readPlan } from '@heddle/core';
import type { BlockLog, Clock, Json, Plan, RunRecord } from '@heddle/core';
import { systemClock } from '../clock.ts';
import { Values } from '../records/values.ts';
import { detailOf, logDetails } from '../resource.ts';
import { sendControlRequest } from '../store/control.ts';
import type { NewControlRequest, ControlOutcome, ControlStore } from '../store/control.ts';
import { isOwned, isShared, ownedRuns } from '../store/lock.ts';
import { openStores } from '../store/open.ts';
import { openLeased } from '../store/open-postgres.ts';
import type { PostgresOptions } from '../store/postgres/open.ts';
import type { SharedStores, Stores } from '../store/stores.ts';
import type { ListQuery, LogDetail, RunDetail, RunEvent } from '../types.ts';
import { foldRun } from '../records/fold.ts';
import { follow } from '../records/follow.ts';

/** A run as it is seen from beside the process that runs it. */
export interface ShownRun extends RunDetail {
  /** It should move by itself, and no process runs it. */
  interrupted: boolean;
}

/** What became of a request to the process that runs the folder; `waiting`: it has not answered yet, the request stays. */
export type ControlReply = ControlOutcome | { status: 'waiting' };

/** Reads runs that other processes, or none, run. */
export interface RunReader {
  listRuns(query?: ListQuery): Promise<{ runs: ShownRun[]; nextCursor: string | null }>;
  /** Throws RUN_NOT_FOUND. */
  getRun(runId: string, options?: { select?: readonly string[] }): Promise<ShownRun>;
  getLogs(runId: string): Promise<LogDetail[]>;
  /** Why the run was cancelled; null where no reason was given, or it was not. */
  cancelReason(runId: string): Promise<string | null>;
  /** The mocks that stand in for blocks of the run; null: none. */
  mocksOf(runId: string): Promise<Json>;
  /** The plan that the run is pinned to. */
  planOf(runId: string): Promise<Plan>;
  /** Everything that has happened in a run and that will, until it ends, only a person can move it, or nobody runs the folder, alone or shared. */
  follow(runId: string): AsyncIterable<RunEvent>;
  close(): Promise<void> | void;
}

/** Reads a data folder while another process, or none, runs it, and asks that process for what only it can do. */
export interface FolderClient extends RunReader {
  /** True while a process runs the folder alone. */
  isOwned(): boolean;
  /** Leaves a request for the process that runs the folder, or the next one; resolves once it is stored. */
  addRequest(ask: NewControlRequest): Promise<void>;
  /** Asks the process that runs the folder; with none, the request waits for the next one. */
  request(ask: NewControlRequest, timeoutMs: number): Promise<ControlReply>;
  close(): void;
}

/** A visitor of the data folder; a folder that is not there reads as empty. Throws DATA_FORMAT_UNSUPPORTED. */
export function openFolderClient(data: string, clock: Clock = systemClock): FolderClient {
  return new FolderReader(data, openStores({ data, readOnly: true, clock }), clock);
}

/** A reader of the runs in a PostgreSQL database; `follow` goes on until the run rests. Throws as `openPostgres` does. */
export async function openPostgresReader(
  options: PostgresOptions,
  clock: Clock = systemClock,
): Promise<RunReader> {
  // Whoever runs it may be anywhere.
  const stores = await openLeased(options);
  const unheld = (runIds: readonly string[]): Promise<string[]> => stores.leases.findUnowned(runIds);
  return new ExternalRunReader(stores, { clock, isServed: () => true, unheld });
}

/** What is known of the processes that run what is stored. */
interface Presence {
  /** True while one may run something of it. */
  isServed: () => boolean;
  /** Those of these runs that have not ended and that no process has. */
  unheld: (runIds: readonly string[]) => Promise<string[]>;
}

class ExternalRunReader implements RunReader {
  readonly #stores: SharedStores;
  readonly #values: Values;
  readonly #clock: Clock;
  readonly #isServed: () => boolean;

  readonly #unheld: Presence['unheld'];

  constructor(stores: SharedStores, { clock, isServed, unheld }: Presence & { clock: Clock }) {
    this.#stores = stores;
    this.#unheld = unheld;
    this.#values = new Values(stores.values);
    this.#clock = clock;
    this.#isServed = isServed;
  }

  async listRuns(query: ListQuery = {}): Promise<{ runs: ShownRun[]; nextCursor: string | null }> {
    const { status, ...rest } = query;
    const page = await this.#stores.runs.list({ ...rest, ...(status && { status: [...status] }) });
    const found = await Promise.all(page.runs.map(async (record) => (await this.#newest(record)).record));
    const asked = found.filter((record) => !status || status.includes(record.status));
    const details = await Promise.all(asked.map((record) => detailOf(record, this.#values)));
    const runs = await this.#shown(details);
    return { runs, nextCursor: page.cursor ?? null };
  }

  async getRun(runId: string, { select }: { select?: readonly string[] } = {}): Promise<ShownRun> {
    const { record, logs } = await this.#run(runId, select !== undefined);
    const [run] = await this.#shown([await detailOf(record, this.#values, { select, logs })]);
    if (!run) throw notFound(runId);
    return run;
  }

  async #shown(runs: readonly RunDetail[]): Promise<ShownRun[]> {
    const moving = runs.filter(({ endedAt, pauseKind }) => endedAt === null && pauseKind !== 'human');
    const unheld = new Set(moving.length === 0 ? [] : await this.#unheld(moving.map(({ runId }) => runId)));
    return runs.map((run) => ({ ...run, interrupted: unheld.has(run.runId) }));
  }

  async cancelReason(runId: string): Promise<string | null> {
    const entries = await this.#stores.runs.journal(runId);
    const entry = entries.findLast(({ type }) => type === 'cancelled');
    return entry?.type === 'cancelled' ? (entry.reason ?? null) : null;
  }

  async mocksOf(runId: string): Promise<Json> {
    const header = await this.#stores.runs.header(runId);
    if (!header) throw notFound(runId);
    return header.mocks;
  }

  async getLogs(runId: string): Promise<LogDetail[]> {
    const { logs } = await this.#run(runId, true);
    return logDetails(logs, this.#values);
  }

  async planOf(runId: string): Promise<Plan> {
    const header = await this.#stores.runs.header(runId);
    if (!header) throw notFound(runId);
    const stored = await this.#stores.definitions.plan(header.planHash);
    if (stored === undefined) {
      throw new EngineError('JOURNAL_CORRUPT', `The plan ${header.planHash} is not in the data folder.`);
    }
    return readPlan(stored);
  }

  async *follow(runId: string): AsyncGenerator<RunEvent> {
    const plan = await this.planOf(runId);
    const parts = {
      store: this.#stores.runs,
      values: this.#values,
      clock: this.#clock,
      isServed: this.#isServed,
    };
    yield* follow(parts, runId, plan);
  }

  close(): Promise<void> | void {
    return this.#stores.close();
  }

  async #run(runId: string, withLogs: boolean): Promise<{ record: RunRecord; logs: BlockLog[] }> {
    const record = await this.#stores.runs.record(runId);
    if (!record) throw notFound(runId);
    const { logs, ...newest } = await this.#newest(record);
    return { ...newest, logs: logs ?? (withLogs ? await this.#stores.runs.logs(runId) : []) };
  }

  /** The record as stored when the run has ended, else as its journal has it: records are written behind. */
  async #newest(record: RunRecord): Promise<{ record: RunRecord; logs?: BlockLog[] }> {
    const { runs } = this.#stores;
    const header = record.endedMs === undefined ? await runs.header(record.runId) : undefined;
    if (!header) return { record };
    const of = { header, plan: await this.planOf(record.runId), suspended: record.suspended };
    return foldRun(of, await runs.journal(record.runId));
  }
}

class FolderReader extends ExternalRunReader implements FolderClient {
  readonly #data: string;
  readonly #control: ControlStore;
  readonly #now: Clock;
  readonly #leave: () => void;

  constructor(data: string, stores: Stores, clock: Clock) {
    super(stores, {
      clock,
      isServed: () => isOwned(data) || isShared(data),
      unheld: (runIds) => unheldRuns(stores, runIds, ownedRuns(data)),
    });
    this.#data = data;
    this.#control = stores.control;
    this.#now = clock;
    this.#leave = () => stores.close();
  }

  override close(): void {
    this.#leave();
  }

  isOwned(): boolean {
    return isOwned(this.#data);
  }

  async addRequest(ask: NewControlRequest): Promise<void> {
    await this.#control.add(ask);
  }

  async request(ask: NewControlRequest, timeoutMs: number): Promise<ControlReply> {
    const { outcome } = await sendControlRequest(this.#control, ask, { clock: this.#now, timeoutMs });
    return outcome ?? { status: 'waiting' };
  }
}

/** Those of the runs that the owner of the folder does not run. Workers of another runtime may be anywhere: its runs are not judged. */
async function unheldRuns(
  { runs }: Stores,
  runIds: readonly string[],
  isOwnersRun: ReturnType<typeof ownedRuns> = () => false,
): Promise<string[]> {
  const headers = await Promise.all(runIds.map(async (runId) => runs.header(runId)));
  return headers.flatMap((header) =>
    header && !header.elsewhere && !isOwnersRun(header.runId, header.createdMs) ? [header.runId] : [],
  );
}

function notFound(runId: string): EngineError {
  return new EngineError('RUN_NOT_FOUND', `There is no run ${runId} in this data folder.`, {
    details: { runId },
  });
}
