import { EngineError } from '@heddle/core';
import type { BlockLog, Json, NewRun, PausePoint, Plan, RunRecord, RunStatus } from '@heddle/core';
import { key, Replica } from '@heddle/core/run';
import type { Applied, Entry, EntryBody, Rest } from '@heddle/core/run';
import type { LocalRunStore } from '../store/stores.ts';
import { Driver } from './driver.ts';
import { eventsOf } from './events.ts';
import type { RawEvent } from './events.ts';
import { Performer } from './perform.ts';
import type { PerformerParts } from './perform.ts';

export interface RunParts extends Omit<PerformerParts, 'replica' | 'post' | 'workflowId'> {
  header: NewRun;
  plan: Plan;
  store: LocalRunStore;
  /** What goes wrong behind everybody's back. */
  report(error: unknown, runId: string): void;
}

/** Readers of records see what has happened within this time. */
const RECORD_DELAY_MS = 500;

type Listener = (event: RawEvent) => void;

/** A run that this process runs: its driver, its performer, its record, and who listens. */
export class ActiveRun {
  readonly header: NewRun;
  readonly replica: Replica;
  /** Why the run stands still though it should move. */
  suspended: string | undefined;
  private readonly parts: RunParts;
  private readonly driver: Driver;
  private readonly performer: Performer;
  private readonly listeners = new Set<Listener>();
  private readonly changedLogs = new Map<number, BlockLog>();
  private readonly answers = new Map<string, Promise<void>>();
  private cancelSave: (() => void) | undefined;
  private lastRest: Rest = 'running';
  private restSeq = -1;
  /** The writing of the record at the last rest: whoever waits for a rest may read it after. */
  private saving: Promise<void> = Promise.resolve();
  private broken: Error | undefined;

  constructor(parts: RunParts) {
    this.parts = parts;
    this.header = parts.header;
    this.replica = new Replica(parts.header.runId, parts.plan);
    this.performer = new Performer({
      ...parts,
      replica: this.replica,
      workflowId: parts.header.workflowId,
      post: (body) => this.driver.post(body),
    });
    this.driver = new Driver({
      replica: this.replica,
      clock: parts.clock,
      append: (runId, entries) => parts.store.append(runId, entries),
      perform: (command) => this.performer.perform(command),
      observe: (entry, applied) => this.observe(entry, applied),
      broken: (error) => this.fail(error),
      settled: () => this.checkRest(),
    });
  }

  get runId(): string {
    return this.header.runId;
  }

  /** Goes on from a journal; an empty one never was. */
  recover(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const applied = this.replica.apply(entry);
      if (!applied.changed)
        throw new EngineError(
          'JOURNAL_CORRUPT',
          `Entry ${entry.seq} of the journal of run ${this.runId} does not follow from the ones before it.`,
        );
      for (const log of applied.logs) this.changedLogs.set(log.executionOrder, log);
    }
    this.checkRest();
    if (this.suspended !== undefined) {
      this.saveSoon();
      return;
    }
    for (const command of this.replica.pending()) this.performer.perform(command);
  }

  /** Starts with the journal's first entry, which is written already. */
  begin(first: Entry): void {
    const applied = this.replica.apply(first);
    this.observe(first, applied);
    for (const command of applied.commands) this.performer.perform(command);
  }

  post(body: EntryBody): void {
    this.driver.post(body);
  }

  cancel(reason: string | undefined): void {
    this.driver.post({ type: 'cancelled', ...(reason !== undefined && { reason }) });
  }

  /** The same answer for the same token, however often it is asked for. */
  once(token: string, answer: () => Promise<void>): Promise<void> {
    const known = this.answers.get(token);
    if (known) return known;
    const answering = answer();
    this.answers.set(token, answering);
    answering.catch(() => this.answers.delete(token));
    return answering;
  }

  /** The open pause point with `token`, or the only open human one. */
  point(token: string | undefined): PausePoint | undefined {
    const open = [...this.replica.pauses.values()].filter((pause) => pause.kind === 'human');
    return token === undefined
      ? open.length === 1
        ? open[0]
        : undefined
      : open.find((pause) => pause.token === token);
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Resolves when the run has ended or only a person can move it; at once when that is so. */
  rested(): Promise<void> {
    if (this.broken !== undefined) return this.saved();
    if ((isResting(this.lastRest) && !this.driver.busy) || this.suspended !== undefined) return this.saved();
    return new Promise((resolve, reject) => {
      const stop = this.listen((event) => {
        if (event.type !== 'rest' || !isResting(event.rest)) return;
        stop();
        if (event.error === undefined) resolve();
        else reject(event.error as Error);
      });
    });
  }

  private async saved(): Promise<void> {
    await this.saving;
    if (this.broken !== undefined) throw this.broken;
  }

  /** Resolves when the run has ended. */
  over(): Promise<void> {
    if (this.ended()) return this.saved();
    return new Promise((resolve, reject) => {
      const stop = this.listen((event) => {
        if (event.type !== 'rest' || event.rest !== 'ended') return;
        stop();
        if (event.error === undefined) resolve();
        else reject(event.error as Error);
      });
    });
  }

  ended(): boolean {
    return this.lastRest === 'ended';
  }

  /** True when the run can be put away until somebody asks for it. */
  idle(): boolean {
    return !this.performer.hasTimers() && this.listeners.size === 0;
  }

  record(): RunRecord {
    const { replica, header } = this;
    const rest = replica.rest();
    const status: RunStatus =
      rest === 'ended' ? (replica.state.end?.status ?? 'failed') : rest === 'running' ? 'running' : 'paused';
    return {
      runId: header.runId,
      workflowId: header.workflowId,
      workflowName: replica.plan.workflow.name,
      status,
      pauseKind: status === 'paused' ? (rest as 'human' | 'time') : undefined,
      createdMs: header.createdMs,
      startedMs: replica.startedMs,
      endedMs: replica.endedMs,
      input: replica.ledger.input,
      output: replica.ledger.output,
      error: replica.error,
      pauses: [...replica.pauses.values()].sort((a, b) => a.pausedMs - b.pausedMs),
      parentRunId: header.parent?.runId,
      seq: replica.seq,
      suspended: this.suspended,
    };
  }

  /** Writes the record and the logs that changed. */
  async save(): Promise<void> {
    this.cancelSave?.();
    this.cancelSave = undefined;
    const logs = [...this.changedLogs.values()];
    this.changedLogs.clear();
    await this.parts.store.saveRecord(this.record(), logs);
  }

  /** Stops: what runs may finish until `until` resolves and is recorded; the rest goes on at the next start. */
  async stop(until: Promise<void>): Promise<void> {
    await this.performer.stop(until);
    this.driver.stop();
    if (this.broken === undefined) await this.save();
  }

  private observe(entry: Entry, applied: Applied): void {
    if ('block' in entry && entry.block !== undefined && entry.scope)
      this.performer.finished({ block: entry.block, scope: entry.scope });
    for (const log of applied.logs) this.changedLogs.set(log.executionOrder, log);
    if (this.listeners.size > 0) for (const event of eventsOf(this.replica, entry, applied)) this.emit(event);
    this.cancelSave ??= this.parts.clock.at(entry.atMs + RECORD_DELAY_MS, () => this.saveSoon());
  }

  private saveSoon(): void {
    this.save().catch((error: unknown) => this.parts.report(error, this.runId));
  }

  /** Tells who listens when the run has come to rest, also when it was at the same rest before and moved between. */
  private checkRest(): void {
    const rest = this.replica.rest();
    if (
      this.broken !== undefined ||
      (rest === this.lastRest && (rest === 'running' || this.replica.seq === this.restSeq))
    )
      return;
    this.lastRest = rest;
    this.restSeq = this.replica.seq;
    if (rest === 'running') this.emit({ type: 'rest', rest });
    else {
      this.saving = this.save().then(
        () => this.emit({ type: 'rest', rest }),
        (error: unknown) => this.fail(error),
      );
    }
  }

  private fail(error: unknown): void {
    if (this.broken !== undefined) return;
    this.broken = error instanceof Error ? error : new Error(String(error));
    this.cancelSave?.();
    this.parts.report(error, this.runId);
    void this.performer.stop(Promise.resolve());
    this.emit({ type: 'rest', rest: 'ended', error });
  }

  private emit(event: RawEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  /** Where the answer to a pause goes. */
  answered(point: PausePoint, input: Json, output: Json): Promise<void> {
    const { values } = this.parts;
    const keep = Promise.all([values.keep(this.parts.redact(input)), values.keep(this.parts.redact(output))]);
    return keep.then(([kept, done]) => {
      const place = { block: point.blockId, scope: point.scope };
      return new Promise<void>((resolve, reject) => {
        const stop = this.listen((event) => {
          if (event.type === 'rest' && event.error !== undefined) reject(event.error as Error);
          else if (event.type !== 'resumed' || event.place !== key(place)) return;
          else resolve();
          stop();
        });
        this.driver.post({ type: 'resumed', ...place, token: point.token, input: kept, output: done });
      });
    });
  }
}

function isResting(rest: Rest): boolean {
  return rest === 'ended' || rest === 'human';
}
