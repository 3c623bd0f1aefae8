import type {
  BlockLog,
  DefinitionStore,
  EngineError,
  Entry,
  RunHeader,
  RunRecord,
  RunStore,
  ValueStore,
} from '@heddle/core';
import type { ControlStore } from './control.ts';
import type { LiveEventStore } from './live-events.ts';
import type { RateStore } from './rates.ts';
import type { SpendingStore } from './spending.ts';

/** A run store that can read the part of a journal after any entry, so that a reader can follow a run. */
export interface TailableRunStore extends RunStore {
  /** Returns the entries of the journal after `afterSeq`, in order; all entries for -1. */
  tail(runId: string, afterSeq: number): Promise<Entry[]> | Entry[];
  /**
   * Returns the record with all logs; undefined if no record is saved. Both are read at the same moment, so that they
   * belong together even if another process saves the run in the meantime.
   */
  recordWithLogs(runId: string): Promise<RecordWithLogs | undefined> | RecordWithLogs | undefined;
  /** Returns the highest `executionOrder` of the logs, without reading all logs; 0 if there are none. */
  lastLogOrder(runId: string): Promise<number> | number;
  /**
   * Ends the journal at `record.seq`: removes later entries, and replaces the record and all logs, even with an older
   * record. Used for entries that a dead process wrote and that are not part of the run. Throws RUN_NOT_FOUND.
   */
  truncate(record: RunRecord, logs: readonly BlockLog[]): Promise<void> | void;
  /**
   * Records that the run uses values that are in none of its entries and steps. `remove` returns their keys too. Throws
   * RUN_NOT_FOUND.
   */
  addValueUses(runId: string, keys: readonly string[]): Promise<void> | void;
}

/** The record and all logs of a run after the same journal entry. */
export interface RecordWithLogs {
  record: RunRecord;
  logs: BlockLog[];
}

/** Record and logs of a run, which `append` saves with the entries that lead to them. */
export type RunProjection = NonNullable<Parameters<RunStore['append']>[2]>;

/** A stored step of a block. */
export type StoredStep = Awaited<ReturnType<RunStore['steps']>>[number];

/** The part of a run store that stores the steps of blocks. */
export type StepStore = Pick<RunStore, 'steps' | 'beginStep' | 'endStep' | 'forgetStep'>;

/** A run that was created, changed its status or was removed. */
export interface StoredChange {
  position: number;
  runId: string;
  /** Absent: the run was removed, unless there is an `error`. */
  header?: RunHeader;
  /** The record at the time of the read. Absent: no record is saved yet. */
  record?: RunRecord;
  /** JOURNAL_CORRUPT if header or record is not JSON. Then both are absent. */
  error?: EngineError;
}

/**
 * The changes to runs, for a consumer that keeps an index of runs in another database. Each change is stored in the
 * transaction that makes it, and kept until it is acknowledged. `describeRunChanges` tests an implementation.
 */
export interface RunChangeStore {
  /** Begins to record changes. The first time, every stored run counts as changed; later calls do nothing. */
  begin(): Promise<void> | void;
  /** Returns changes that are not acknowledged, oldest first. A run may appear several times. */
  read(limit: number): Promise<StoredChange[]> | StoredChange[];
  acknowledge(positions: readonly number[]): Promise<void> | void;
  /**
   * Returns the size of each run in bytes: record, journal, logs, steps and stored values. A value that several runs
   * use counts for each of them. Unknown runs are absent.
   */
  bytesOf(runIds: readonly string[]): Promise<Map<string, number>> | Map<string, number>;
}

/**
 * Returns true if every store can store the text as an id or name: PostgreSQL stores neither NUL nor a lone
 * surrogate.
 */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** A conversation of a tenant. Equal ids of different tenants are different conversations. */
export interface ConversationKey {
  tenant: string;
  id: string;
}

/** Maximum number of exchanges of a conversation. Older ones are removed. */
export const MAX_EXCHANGES = 500;

/**
 * Exchanges of conversations (the messages of one question and its answer), as JSON text in the order in which
 * they were added. `describeConversations` tests an implementation.
 */
export interface ConversationStore {
  /** Adds an exchange, unless the conversation has one with this key. */
  add(conversation: ConversationKey, exchange: { key: string; json: string }): Promise<void> | void;
  /** Returns the newest exchanges that together have at most `maxChars` characters, oldest first. */
  newestExchanges(conversation: ConversationKey, maxChars: number): Promise<string[]> | string[];
  /** Removes a conversation with all its exchanges. */
  remove(conversation: ConversationKey): Promise<void> | void;
  /** Returns the ids of a tenant's conversations, ordered by code points, at most `limit`. */
  ids(tenant: string, limit: number): Promise<string[]> | string[];
}

/** Stores that several processes use at the same time. */
export interface SharedStores {
  readonly runs: TailableRunStore;
  readonly definitions: DefinitionStore;
  readonly values: ValueStore;
  readonly changes: RunChangeStore;
  readonly conversations: ConversationStore;
  readonly liveEvents: LiveEventStore;
  readonly spending: SpendingStore;
  readonly rates: RateStore;
  /** Finishes pending writes and releases all resources. Later calls fail with ENGINE_CLOSED. */
  close(): Promise<void> | void;
}

/** The stores of a data folder, or of the memory of one process. */
export interface Stores extends SharedStores {
  readonly control: ControlStore;
  /** Tells other processes that the owner of the folder executes, besides new runs, only these earlier ones. */
  recordOpenedRuns?(runIds: readonly string[]): void;
  /** Finishes pending writes, closes the files and releases the data folder. Later writes fail with ENGINE_CLOSED. */
  close(): void;
}

/**
 * The durability of a commit. `process`: it survives a crash of the process at any moment. `power`: it also survives a
 * power failure (one flush of the disk per commit).
 */
export type Durability = 'process' | 'power';
