import type {
  BlockLog,
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
import { entryTwice, parseStored, planUnknown, unknownRun } from './faults.ts';
import { isEnded, readJournal, readTail, toRows } from './journal.ts';
import type { JournalRow } from './journal.ts';
import type { LocalRunStore } from './stores.ts';
import { valueKey } from './value-key.ts';

interface MemoryRun {
  header: string;
  createdMs: number;
  rows: JournalRow[];
  record:
    | { text: string; seq: number; status: RunRecord['status']; workflowId: string; createdMs: number }
    | undefined;
  /** By execution order. */
  logs: Map<number, string>;
}

/** Runs in memory, as JSON text: what is read is what a file would give back, and later changes of objects reach nothing. */
export class MemoryRunStore implements LocalRunStore {
  readonly #runs = new Map<string, MemoryRun>();

  create(run: NewRun, first: Entry): boolean {
    if (this.#runs.has(run.runId)) return false;
    this.#runs.set(run.runId, {
      header: JSON.stringify(run),
      createdMs: run.createdMs,
      rows: toRows([first]),
      record: undefined,
      logs: new Map(),
    });
    return true;
  }

  append(runId: string, entries: readonly Entry[]): void {
    const { rows } = this.#known(runId);
    const added = toRows(entries);
    let last = rows.at(-1)?.seq ?? -1;
    for (const row of added) {
      if (row.seq <= last) throw entryTwice(runId);
      last = row.seq;
    }
    rows.push(...added);
  }

  upsert(runId: string, entries: readonly Entry[]): void {
    const run = this.#known(runId);
    const there = new Set(run.rows.map((row) => row.seq));
    const added = toRows(entries).filter((row) => !there.has(row.seq) && there.add(row.seq));
    run.rows = [...run.rows, ...added].toSorted((a, b) => a.seq - b.seq);
  }

  journal(runId: string): Entry[] {
    return readJournal(runId, this.#runs.get(runId)?.rows ?? []);
  }

  tail(runId: string, afterSeq: number): Entry[] {
    const rows = this.#runs.get(runId)?.rows ?? [];
    if (afterSeq < 0) return readJournal(runId, rows);
    return readTail(
      runId,
      rows.filter((row) => row.seq > afterSeq),
      afterSeq,
    );
  }

  header(runId: string): NewRun | undefined {
    const run = this.#runs.get(runId);
    return run && parseStored(run.header, `header of run "${runId}"`);
  }

  saveRecord(record: RunRecord, logs: readonly BlockLog[]): void {
    const run = this.#known(record.runId);
    const { seq, status, workflowId, createdMs } = record;
    if (run.record && run.record.seq > seq) return;
    run.record = { text: JSON.stringify(record), seq, status, workflowId, createdMs };
    for (const log of logs) run.logs.set(log.executionOrder, JSON.stringify(log));
  }

  record(runId: string): RunRecord | undefined {
    const record = this.#runs.get(runId)?.record;
    return record && parseStored(record.text, `record of run "${runId}"`);
  }

  logs(runId: string): BlockLog[] {
    const logs = [...(this.#runs.get(runId)?.logs ?? [])].toSorted(([a], [b]) => a - b);
    return logs.map(([, text]) => parseStored(text, `log of run "${runId}"`));
  }

  list(query: RunQuery): { runs: RunRecord[]; cursor: string | undefined } {
    const limit = pageLimit(query);
    const after = decodeCursor(query);
    const found: { runId: string; createdMs: number; text: string }[] = [];
    for (const [runId, { record }] of this.#runs) {
      if (!record) continue;
      if (query.workflowId !== undefined && record.workflowId !== query.workflowId) continue;
      if (query.status && !query.status.includes(record.status)) continue;
      const place = { runId, createdMs: record.createdMs, text: record.text };
      if (!after || newestFirst(place, after) > 0) found.push(place);
    }
    const page = found.toSorted(newestFirst).slice(0, limit + 1);
    const last = page.length > limit ? page[limit - 1] : undefined;
    return {
      runs: page.slice(0, limit).map(({ text, runId }) => parseStored(text, `record of run "${runId}"`)),
      cursor: last && encodeCursor(last),
    };
  }

  open(): string[] {
    const open = [...this.#runs].filter(([, { record }]) => !record || !isEnded(record.status));
    return open
      .map(([runId, { createdMs }]) => ({ runId, createdMs }))
      .toSorted((a, b) => newestFirst(b, a))
      .map(({ runId }) => runId);
  }

  #known(runId: string): MemoryRun {
    const run = this.#runs.get(runId);
    if (!run) throw unknownRun(runId);
    return run;
  }
}

type Place = { createdMs: number; runId: string };

function newestFirst(a: Place, b: Place): number {
  return b.createdMs - a.createdMs || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0);
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
    if (!this.#plans.has(planHash)) throw planUnknown(workflowId, planHash);
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
  readonly #values = new Map<string, string>();

  put(json: string): string {
    const key = valueKey(json);
    this.#values.set(key, json);
    return key;
  }

  get(key: string): string | undefined {
    return this.#values.get(key);
  }
}
