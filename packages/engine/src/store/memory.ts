import { systemClock } from '../clock.ts';
import type {
  BlockLog,
  Clock,
  DefinitionStore,
  Deployment,
  Entry,
  Json,
  RunHeader,
  RunQuery,
  RunRecord,
  ValueStore,
} from '@heddle/core';
import type { Place, StoredValue } from '@heddle/core/run';
import { OUTCOME_RETENTION_MS, readControlRow, readOutcome, toControlRow } from './control.ts';
import type {
  ControlOutcome,
  ControlRequest,
  ControlRow,
  ControlStore,
  NewControlRequest,
} from './control.ts';
import { decodeCursor, encodeCursor, pageLimit } from './cursor.ts';
import type { Cursor } from './cursor.ts';
import { duplicateEntryError, parseStoredJson, unknownPlanError, unknownRunError } from './errors.ts';
import { isEnded, readJournal, readTail, toJournalRows } from './journal.ts';
import type { RecordWithLogs, RunProjection, StoredStep, TailableRunStore } from './stores.ts';
import { stepPlace } from './step-place.ts';
import type { MemoryRunChanges } from './memory-run-changes.ts';
import { valueKeysIn, valueKey } from './value-key.ts';

interface MemoryRun {
  header: RunHeader;
  entries: Entry[];
  record: RunRecord | undefined;
  /** By execution order; sparse. */
  logs: BlockLog[];
  /** By place and key; absent: no block has steps. The results are JSON text. */
  steps?: Map<string, Map<string, string | undefined>>;
  /** Keys of values that are in none of the entries and steps; absent: none. */
  otherValueKeys?: Set<string>;
}

/** Runs in memory. Keeps the objects that it receives, and returns copies, as if they were read from a data folder. */
export class MemoryRunStore implements TailableRunStore {
  readonly #runs = new Map<string, MemoryRun>();
  /** Ids of child runs by the ids of their parents. */
  readonly #childIdsByParent = new Map<string, Set<string>>();
  readonly #changes: MemoryRunChanges | undefined;

  constructor(changes?: MemoryRunChanges) {
    this.#changes = changes;
    changes?.setRuns(this.#runs);
  }

  create(header: RunHeader, firstEntry: Entry, record?: RunRecord): boolean {
    if (this.#runs.has(header.runId)) return false;
    this.#runs.set(header.runId, { header, entries: [firstEntry], record, logs: [] });
    if (header.parent) this.#childIdsOf(header.parent.runId).add(header.runId);
    this.#changes?.add(header.runId);
    return true;
  }

  append(runId: string, newEntries: readonly Entry[], projection?: RunProjection): void {
    const { entries } = this.#run(runId);
    let lastSeq = entries.at(-1)?.seq ?? -1;
    for (const { seq } of newEntries) {
      if (seq <= lastSeq) throw duplicateEntryError(runId);
      lastSeq = seq;
    }
    for (const entry of newEntries) entries.push(entry);
    if (projection) this.saveRecord(projection.record, projection.logs);
  }

  upsert(runId: string, entries: readonly Entry[]): void {
    const run = this.#run(runId);
    const entriesBySeq = new Map([...run.entries, ...entries].map((entry) => [entry.seq, entry]));
    run.entries = [...entriesBySeq.values()].toSorted((a, b) => a.seq - b.seq);
  }

  journal(runId: string): Entry[] {
    return readJournal(runId, toJournalRows(this.#runs.get(runId)?.entries ?? []));
  }

  tail(runId: string, afterSeq: number): Entry[] {
    if (afterSeq < 0) return this.journal(runId);
    const entries = this.#runs.get(runId)?.entries ?? [];
    return readTail(runId, toJournalRows(entries.filter((entry) => entry.seq > afterSeq)), afterSeq);
  }

  header(runId: string): RunHeader | undefined {
    return copyOf(this.#runs.get(runId)?.header);
  }

  saveRecord(record: RunRecord, logs: readonly BlockLog[]): boolean {
    const run = this.#run(record.runId);
    if (run.record && run.record.seq > record.seq) return false;
    this.#save(run, record, logs);
    return true;
  }

  truncate(record: RunRecord, logs: readonly BlockLog[]): void {
    const run = this.#run(record.runId);
    run.entries = run.entries.filter(({ seq }) => seq <= record.seq);
    run.logs = [];
    this.#save(run, record, logs);
  }

  addValueUses(runId: string, keys: readonly string[]): void {
    const run = this.#run(runId);
    run.otherValueKeys = new Set([...(run.otherValueKeys ?? []), ...keys]);
  }

  #save(run: MemoryRun, record: RunRecord, logs: readonly BlockLog[]): void {
    const hasStatusChanged = run.record?.status !== record.status;
    run.record = record;
    if (hasStatusChanged) this.#changes?.add(record.runId);
    // The caller changes the log object of a running block later, so a copy is kept.
    for (const log of logs) run.logs[log.executionOrder] = log.endedMs === undefined ? { ...log } : log;
  }

  record(runId: string): RunRecord | undefined {
    return copyOf(this.#runs.get(runId)?.record);
  }

  logs(runId: string): BlockLog[] {
    const logs = this.#runs.get(runId)?.logs ?? [];
    return logs.filter((log) => log !== undefined).map(copyOf);
  }

  lastLogOrder(runId: string): number {
    return Math.max(0, (this.#runs.get(runId)?.logs.length ?? 0) - 1);
  }

  recordWithLogs(runId: string): RecordWithLogs | undefined {
    const record = this.record(runId);
    return record && { record, logs: this.logs(runId) };
  }

  list(query: RunQuery): { runs: RunRecord[]; cursor: string | undefined } {
    const limit = pageLimit(query);
    const cursor = decodeCursor(query);
    const compare = query.order === 'asc' ? oldestFirst : newestFirst;
    const runs: RunRecord[] = [];
    for (const { record } of this.#runs.values()) {
      if (record && matchesQuery(record, query) && (!cursor || compare(record, cursor) > 0))
        runs.push(record);
    }
    const page = runs.toSorted(compare).slice(0, limit + 1);
    const lastRecord = page.length > limit ? page[limit - 1] : undefined;
    return { runs: page.slice(0, limit).map(copyOf), cursor: lastRecord && encodeCursor(lastRecord) };
  }

  unfinishedRunIds(): string[] {
    const openRuns = [...this.#runs].filter(([, { record }]) => !record || !isEnded(record.status));
    return openRuns
      .map(([runId, { header }]) => ({ runId, createdMs: header.createdMs }))
      .toSorted(oldestFirst)
      .map(({ runId }) => runId);
  }

  childRunIds(runId: string, { open } = { open: false }): string[] {
    const ids = [...(this.#childIdsByParent.get(runId) ?? [])];
    return open ? ids.filter((id) => !isEnded(this.#runs.get(id)?.record?.status ?? 'queued')) : ids;
  }

  #childIdsOf(runId: string): Set<string> {
    const childIds = this.#childIdsByParent.get(runId) ?? new Set();
    this.#childIdsByParent.set(runId, childIds);
    return childIds;
  }

  remove(runId: string): string[] | undefined {
    const run = this.#runs.get(runId);
    if (!run?.record || !isEnded(run.record.status)) return undefined;
    this.#runs.delete(runId);
    const parentId = run.header.parent?.runId;
    if (parentId !== undefined) {
      const siblings = this.#childIdsOf(parentId);
      siblings.delete(runId);
      if (siblings.size === 0) this.#childIdsByParent.delete(parentId);
    }
    this.#changes?.add(runId);
    return [...valueKeysIn(textOf(run)), ...(run.otherValueKeys ?? [])];
  }

  steps(runId: string, place: Place): StoredStep[] {
    const steps = this.#runs.get(runId)?.steps?.get(stepPlace(place)) ?? [];
    return [...steps].map(([key, result]) => ({ key, result: parseResult(result) }));
  }

  beginStep(runId: string, place: Place, key: string): StoredStep | undefined {
    const steps = this.#stepsAt(runId, place);
    if (steps.has(key)) return { key, result: parseResult(steps.get(key)) };
    steps.set(key, undefined);
    return undefined;
  }

  endStep(runId: string, place: Place, key: string, result: StoredValue): StoredValue {
    const steps = this.#stepsAt(runId, place);
    const recordedResult = parseResult(steps.get(key));
    if (!recordedResult) steps.set(key, JSON.stringify(result));
    return recordedResult ?? result;
  }

  forgetStep(runId: string, place: Place, key: string): void {
    const steps = this.#stepsAt(runId, place);
    if (steps.get(key) === undefined) steps.delete(key);
  }

  /** True while an entry or a step of a run contains the key, or `addValueUses` has recorded it. */
  uses(key: string): boolean {
    return [...this.#runs.values()].some((run) => textOf(run).includes(key) || run.otherValueKeys?.has(key));
  }

  #stepsAt(runId: string, place: Place): Map<string, string | undefined> {
    const run = this.#run(runId);
    const placeName = stepPlace(place);
    run.steps ??= new Map();
    const steps = run.steps.get(placeName) ?? new Map<string, string | undefined>();
    run.steps.set(placeName, steps);
    return steps;
  }

  #run(runId: string): MemoryRun {
    const run = this.#runs.get(runId);
    if (!run) throw unknownRunError(runId);
    return run;
  }
}

/** Returns the JSON text of all data of the run that can contain keys of values. */
function textOf({ entries, steps = new Map() }: MemoryRun): string {
  const results = [...steps.values()].flatMap((resultByKey) => [...resultByKey.values()]);
  return `${JSON.stringify(entries)} ${results.join(' ')}`;
}

function parseResult(result: string | undefined): StoredValue | undefined {
  return result === undefined ? undefined : (JSON.parse(result) as StoredValue);
}

/** Returns a deep copy, which the caller may change. */
function copyOf<T>(original: T): T {
  if (typeof original !== 'object' || original === null) return original;
  if (Array.isArray(original)) return original.map(copyOf) as T;
  const copy = { ...original } as { [key: string]: unknown };
  for (const key of Object.keys(copy)) {
    const value = copy[key];
    if (typeof value === 'object') copy[key] = copyOf(value);
  }
  return copy as T;
}

function newestFirst(a: Cursor, b: Cursor): number {
  return b.createdMs - a.createdMs || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0);
}

function oldestFirst(a: Cursor, b: Cursor): number {
  return newestFirst(b, a);
}

function matchesQuery(record: RunRecord, { workflowId, status, fromMs, toMs }: RunQuery): boolean {
  if (workflowId !== undefined && record.workflowId !== workflowId) return false;
  if (status && !status.includes(record.status)) return false;
  return record.createdMs >= (fromMs ?? -Infinity) && record.createdMs <= (toMs ?? Infinity);
}

/** Plans and deployments in memory. */
export class MemoryDefinitionStore implements DefinitionStore {
  readonly #plans = new Map<string, string>();
  /** The versions of each workflow, by workflow id; workflows in the order of their last deployment. */
  readonly #deployments = new Map<string, Deployment[]>();

  putPlan(hash: string, plan: Json): void {
    if (!this.#plans.has(hash)) this.#plans.set(hash, JSON.stringify(plan));
  }

  plan(hash: string): Json | undefined {
    const text = this.#plans.get(hash);
    return text === undefined ? undefined : parseStoredJson(text, `plan "${hash}"`);
  }

  deploy(deployment: { workflowId: string; name: string; planHash: string; atMs: number }): number {
    const { workflowId, name, planHash } = deployment;
    if (!this.#plans.has(planHash)) throw unknownPlanError(workflowId, planHash);
    const versions = this.#deployments.get(workflowId) ?? [];
    const newestDeployment = versions.at(-1);
    if (newestDeployment?.planHash === planHash) return newestDeployment.version;
    const version = versions.length + 1;
    this.#deployments.delete(workflowId);
    this.#deployments.set(workflowId, [...versions, { workflowId, name, version, planHash }]);
    return version;
  }

  find(workflow: string, version?: number): Deployment | undefined {
    const versions = this.#deployments.get(workflow) ?? this.#findByName(workflow);
    const deployment = version === undefined ? versions?.at(-1) : versions?.[version - 1];
    return deployment && { ...deployment };
  }

  #findByName(name: string): Deployment[] | undefined {
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

/** Control requests within one process. */
export class MemoryControlStore implements ControlStore {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #rows = new Map<string, ControlRow & { outcome?: string }>();
  readonly #watchers = new Set<() => void>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  async add(request: NewControlRequest): Promise<string> {
    const row = toControlRow(request, this.#clock.now());
    this.#rows.set(row.id, row);
    for (const onRequest of this.#watchers) onRequest();
    return row.id;
  }

  outcome(id: string): ControlOutcome | undefined {
    return readOutcome(id, this.#rows.get(id)?.outcome);
  }

  openRequests(): ControlRequest[] {
    return [...this.#rows.values()].filter(({ outcome }) => outcome === undefined).map(readControlRow);
  }

  async settle(id: string, outcome: ControlOutcome): Promise<void> {
    const row = this.#rows.get(id);
    if (row) row.outcome ??= JSON.stringify(outcome);
  }

  async remove(id: string): Promise<void> {
    this.#rows.delete(id);
  }

  async prune(): Promise<void> {
    const beforeMs = this.#clock.now() - OUTCOME_RETENTION_MS;
    for (const { id, outcome, createdMs } of this.#rows.values())
      if (outcome !== undefined && createdMs < beforeMs) this.#rows.delete(id);
  }

  watch(onRequest: () => void): () => void {
    this.#watchers.add(onRequest);
    return () => this.#watchers.delete(onRequest);
  }
}
