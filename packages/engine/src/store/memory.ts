import { systemClock } from '../clock.ts';
import type {
  BlockLog,
  Clock,
  DefinitionStore,
  Deployment,
  Entry,
  Json,
  NewRun,
  RunQuery,
  RunRecord,
  ValueStore,
} from '@heddle/core';
import { decodeCursor, encodeCursor, pageLimit } from './cursor.ts';
import { duplicateEntry, parseStored, unknownPlan, unknownRun } from './errors.ts';
import { isEnded, readJournal, readTail, toRows } from './journal.ts';
import type { TailableRunStore, RunProjection } from './stores.ts';
import { valueKeysIn, valueKey } from './value-key.ts';

interface MemoryRun {
  header: NewRun;
  entries: Entry[];
  record: RunRecord | undefined;
  /** By execution order; with holes. */
  logs: BlockLog[];
}

/**
 * Runs in memory. What it is given it takes over: text is made only of what is read, so that what is read is what a
 * file would give back.
 */
export class MemoryRunStore implements TailableRunStore {
  readonly #runs = new Map<string, MemoryRun>();

  create(run: NewRun, first: Entry, record?: RunRecord): boolean {
    if (this.#runs.has(run.runId)) return false;
    this.#runs.set(run.runId, { header: run, entries: [first], record, logs: [] });
    return true;
  }

  append(runId: string, added: readonly Entry[], saved?: RunProjection): void {
    const { entries } = this.#known(runId);
    let last = entries.at(-1)?.seq ?? -1;
    for (const { seq } of added) {
      if (seq <= last) throw duplicateEntry(runId);
      last = seq;
    }
    for (const entry of added) entries.push(entry);
    if (saved) this.saveRecord(saved.record, saved.logs);
  }

  upsert(runId: string, entries: readonly Entry[]): void {
    const run = this.#known(runId);
    const bySeq = new Map([...run.entries, ...entries].map((entry) => [entry.seq, entry]));
    run.entries = [...bySeq.values()].toSorted((a, b) => a.seq - b.seq);
  }

  journal(runId: string): Entry[] {
    return readJournal(runId, toRows(this.#runs.get(runId)?.entries ?? []));
  }

  tail(runId: string, afterSeq: number): Entry[] {
    if (afterSeq < 0) return this.journal(runId);
    const entries = this.#runs.get(runId)?.entries ?? [];
    return readTail(runId, toRows(entries.filter((entry) => entry.seq > afterSeq)), afterSeq);
  }

  header(runId: string): NewRun | undefined {
    return readBack(this.#runs.get(runId)?.header);
  }

  saveRecord(record: RunRecord, logs: readonly BlockLog[]): boolean {
    const run = this.#known(record.runId);
    if (run.record && run.record.seq > record.seq) return false;
    run.record = record;
    // The log of a block that runs goes on changing.
    for (const log of logs) run.logs[log.executionOrder] = log.endedMs === undefined ? { ...log } : log;
    return true;
  }

  record(runId: string): RunRecord | undefined {
    return readBack(this.#runs.get(runId)?.record);
  }

  logs(runId: string): BlockLog[] {
    const logs = this.#runs.get(runId)?.logs ?? [];
    return logs.filter((log) => log !== undefined).map(readBack);
  }

  list(query: RunQuery): { runs: RunRecord[]; cursor: string | undefined } {
    const limit = pageLimit(query);
    const after = decodeCursor(query);
    const compare = query.order === 'asc' ? oldestFirst : newestFirst;
    const found: RunRecord[] = [];
    for (const { record } of this.#runs.values()) {
      if (record && isWanted(record, query) && (!after || compare(record, after) > 0)) found.push(record);
    }
    const page = found.toSorted(compare).slice(0, limit + 1);
    const last = page.length > limit ? page[limit - 1] : undefined;
    return { runs: page.slice(0, limit).map(readBack), cursor: last && encodeCursor(last) };
  }

  open(): string[] {
    const open = [...this.#runs].filter(([, { record }]) => !record || !isEnded(record.status));
    return open
      .map(([runId, { header }]) => ({ runId, createdMs: header.createdMs }))
      .toSorted(oldestFirst)
      .map(({ runId }) => runId);
  }

  children(runId: string): string[] {
    return [...this.#runs].flatMap(([id, { header }]) => (header.parent?.runId === runId ? [id] : []));
  }

  remove(runId: string): string[] | undefined {
    const run = this.#runs.get(runId);
    if (!run?.record || !isEnded(run.record.status)) return undefined;
    this.#runs.delete(runId);
    return valueKeysIn(JSON.stringify(run.entries));
  }

  /** True while a run names the key. */
  uses(key: string): boolean {
    return [...this.#runs.values()].some(({ entries }) => JSON.stringify(entries).includes(key));
  }

  #known(runId: string): MemoryRun {
    const run = this.#runs.get(runId);
    if (!run) throw unknownRun(runId);
    return run;
  }
}

/** A copy, down to the last object: what reads it may change it. */
function readBack<T>(stored: T): T {
  if (typeof stored !== 'object' || stored === null) return stored;
  if (Array.isArray(stored)) return stored.map(readBack) as T;
  const copy = { ...stored } as { [key: string]: unknown };
  for (const key of Object.keys(copy)) {
    const value = copy[key];
    if (typeof value === 'object') copy[key] = readBack(value);
  }
  return copy as T;
}

type RunPosition = { createdMs: number; runId: string };

function newestFirst(a: RunPosition, b: RunPosition): number {
  return b.createdMs - a.createdMs || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0);
}

function oldestFirst(a: RunPosition, b: RunPosition): number {
  return newestFirst(b, a);
}

function isWanted(record: RunRecord, { workflowId, status, fromMs, toMs }: RunQuery): boolean {
  if (workflowId !== undefined && record.workflowId !== workflowId) return false;
  if (status && !status.includes(record.status)) return false;
  return record.createdMs >= (fromMs ?? -Infinity) && record.createdMs <= (toMs ?? Infinity);
}

/** Plans and deployments in memory. */
export class MemoryDefinitionStore implements DefinitionStore {
  readonly #plans = new Map<string, string>();
  /** By workflow id, in the order of the newest deployment; versions from 1 on. */
  readonly #deployments = new Map<string, Deployment[]>();

  putPlan(hash: string, plan: Json): void {
    if (!this.#plans.has(hash)) this.#plans.set(hash, JSON.stringify(plan));
  }

  plan(hash: string): Json | undefined {
    const text = this.#plans.get(hash);
    return text === undefined ? undefined : parseStored(text, `plan "${hash}"`);
  }

  deploy(deployment: { workflowId: string; name: string; planHash: string; atMs: number }): number {
    const { workflowId, name, planHash } = deployment;
    if (!this.#plans.has(planHash)) throw unknownPlan(workflowId, planHash);
    const versions = this.#deployments.get(workflowId) ?? [];
    const newest = versions.at(-1);
    if (newest?.planHash === planHash) return newest.version;
    const version = versions.length + 1;
    this.#deployments.delete(workflowId);
    this.#deployments.set(workflowId, [...versions, { workflowId, name, version, planHash }]);
    return version;
  }

  find(workflow: string, version?: number): Deployment | undefined {
    const versions = this.#deployments.get(workflow) ?? this.#named(workflow);
    const found = version === undefined ? versions?.at(-1) : versions?.[version - 1];
    return found && { ...found };
  }

  #named(name: string): Deployment[] | undefined {
    return [...this.#deployments.values()].findLast((versions) => versions.at(-1)?.name === name);
  }
}

/** Values in memory. */
export class MemoryValueStore implements ValueStore {
  readonly #values = new Map<string, { json: string; putMs: number }>();
  readonly #runs: Pick<MemoryRunStore, 'uses'>;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(
    runs: Pick<MemoryRunStore, 'uses'> = { uses: () => true },
    clock: Pick<Clock, 'now'> = systemClock,
  ) {
    this.#runs = runs;
    this.#clock = clock;
  }

  put(json: string): string {
    const key = valueKey(json);
    this.#values.set(key, { json, putMs: this.#clock.now() });
    return key;
  }

  get(key: string): string | undefined {
    return this.#values.get(key)?.json;
  }

  prune(keys: readonly string[], unusedMs: number): void {
    const beforeMs = this.#clock.now() - unusedMs;
    for (const key of keys) {
      const { putMs = Infinity } = this.#values.get(key) ?? {};
      if (putMs <= beforeMs && !this.#runs.uses(key)) this.#values.delete(key);
    }
  }
}
