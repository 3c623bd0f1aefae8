import type { NewRun, RunRecord } from '@heddle/core';
import { placeKey, Replica } from '@heddle/core/run';
import type { Entry, EntryBody, Place, IdleState } from '@heddle/core/run';
import type { AppliedEntry } from '../../records/fold.ts';
import { Driver } from './driver.ts';
import { emissionEvent, eventsOf } from '../../records/run-events.ts';
import type { RawEvent } from '../../records/run-events.ts';
import { Listeners } from './listeners.ts';
import { Pauses } from './pauses.ts';
import { Performer } from '../../execution/command-executor.ts';
import { applyEntry } from '../../records/fold.ts';
import { journalCorrupt } from '../../store/errors.ts';
import { recordOf } from '../../records/run-record.ts';
import { runLeft } from '../../records/run-errors.ts';
import type { RunParts } from './run-parts.ts';
import { Saver } from '../../records/record-saver.ts';

const entryOf = ({ entry }: AppliedEntry): Entry => entry;

/** A run that this process runs: its driver, its performer, its record, and who listens. */
export class ActiveRun {
  readonly header: NewRun;
  readonly replica: Replica;
  readonly pauses: Pauses;
  /** Why the run stands still though it should move. */
  suspended: string | undefined;
  /** Stopped here: its journal is all that is left of it. */
  broken: Error | undefined;
  /** Put away: another object may stand for the run by now. */
  away = false;
  /** Entries that are written, and that listeners have been told of. */
  told = 0;
  private readonly parts: RunParts;
  private readonly driver: Driver;
  private readonly performer: Performer;
  private readonly saver: Saver;
  private readonly listeners = new Listeners();
  /** Blocks whose child runs have not told yet how they stand, after a restart. */
  private readonly unheard = new Set<string>();
  private left = false;
  private lastRest: IdleState = 'running';
  private restSeq = -1;
  /** The writing of the record at the last rest: whoever waits for a rest may read it after. */
  private saving: Promise<void> | undefined;

  constructor(parts: RunParts) {
    this.parts = parts;
    this.header = parts.header;
    this.replica = new Replica(parts.header.runId, parts.plan);
    this.performer = new Performer({
      ...parts,
      replica: this.replica,
      workflowId: parts.header.workflowId,
      post: (body) => {
        this.driver.post(body);
        if (this.unheard.size > 0 && 'block' in body) this.heard(body as Place);
      },
      emit: (...told) =>
        this.listeners.curious &&
        this.emit(emissionEvent(this.replica, parts.clock, parts.environment.keeper, told)),
      broken: (error) => this.fail(error),
    });
    this.driver = new Driver({
      replica: this.replica,
      clock: parts.clock,
      append: (batch) => parts.store.append(this.runId, batch.map(entryOf), this.saver.along(batch)),
      perform: (command) => {
        if (command.type === 'abort' && this.unheard.size > 0)
          this.heard(this.replica.index.placeOf(command.at));
        this.performer.perform(command);
      },
      observe: (batch) => this.observe(batch),
      waits: () => this.saver.soon(),
      broken: (error) => this.fail(error),
      settled: () => this.settled(),
    });
    this.pauses = new Pauses({
      replica: this.replica,
      keeper: parts.environment.keeper,
      post: (body, told) => this.driver.post(body, told),
      stopped: () => this.broken ?? runLeft(this.runId),
    });
    this.saver = new Saver({
      clock: parts.clock,
      record: () => recordOf(this.replica, this.header, this.suspended),
      save: (record, logs) => parts.store.saveRecord(record, logs),
      writing: () => this.driver.writing,
      resting: () => this.replica.idleState() !== 'running',
      report: (error) => parts.report(error, this.runId),
    });
  }

  get runId(): string {
    return this.header.runId;
  }

  /**
   * Takes in a journal, up to where the run is; `saved` is its record as it was left. Throws JOURNAL_CORRUPT.
   *
   * Nothing moves before `goOn`.
   */
  recover(entries: readonly Entry[], saved: RunRecord | undefined): void {
    for (const entry of entries) {
      const { logs } = applyEntry(this.replica, entry);
      // Logs are saved with the record that has seen their entry.
      if (entry.seq > (saved?.seq ?? 0)) this.saver.changed(logs);
    }
    if (entries.length === 0) throw journalCorrupt(this.runId, 'it is empty');
    this.told = this.replica.seq;
    if (saved?.seq === this.replica.seq && saved.suspended === this.suspended) this.saver.clean();
  }

  /** Goes on from where it was; a suspended run stands still. */
  goOn(): void {
    this.checkRest();
    if (this.suspended !== undefined) this.performer.retire();
    for (const command of this.replica.pendingCommands()) {
      if (command.type === 'run' && this.replica.index.node(command.at).class === 'child')
        this.unheard.add(placeKey(this.replica.index.placeOf(command.at)));
      this.performer.perform(command);
    }
    this.saver.save().catch((error: unknown) => {
      if (error !== this.broken) this.parts.report(error, this.runId);
    });
  }

  /** Only takes entries: nothing that is owed is done. */
  standStill(): void {
    this.performer.retire();
  }

  /** Starts with the journal's first entry, which is written already. */
  begin(first: Entry): void {
    const applied = this.replica.apply(first);
    this.saver.changed(applied.logs);
    this.observe([{ entry: first, applied }]);
    for (const command of applied.commands) this.performer.perform(command);
    if (this.lastRest === 'running') this.saver.soon();
  }

  post(body: EntryBody): void {
    this.driver.post(body);
  }

  /** Ends the run; what it has under way is aborted. Resolves when that is recorded. */
  async cancel(reason: string | undefined): Promise<void> {
    const said = reason === undefined ? {} : { reason: this.parts.environment.text(reason) };
    this.driver.post({ type: 'cancelled', ...said });
    await this.until(() => this.ended());
  }

  listen(listener: (event: RawEvent) => void): () => void {
    return this.listeners.toAll(listener);
  }

  /** Resolves when the run has ended, only a person can move it, or it is suspended. Rejects when it cannot go on here. */
  rested(): Promise<void> {
    return this.until(() => this.suspended !== undefined || this.isAtRest());
  }

  private isAtRest(): boolean {
    if (this.driver.busy || this.unheard.size > 0) return false;
    return this.lastRest === 'ended' || this.lastRest === 'human';
  }

  /** Resolves when `holds` does and the record says so. */
  private async until(holds: () => boolean): Promise<void> {
    for (;;) {
      if (this.broken) throw this.broken;
      const { saving } = this;
      if (!holds()) await this.listeners.nextRest();
      else {
        if (saving) await saving;
        if (saving === this.saving && holds() && !this.broken) return;
      }
    }
  }

  ended(): boolean {
    return this.lastRest === 'ended';
  }

  /** True when the run can be put away until somebody asks for it. */
  idle(): boolean {
    const quiet = this.performer.idle && !this.driver.busy && !this.pauses.busy && this.listeners.empty;
    return quiet && this.lastRest === 'human' && this.suspended === undefined;
  }

  /** The record as it is now; never ahead of the journal. */
  record(): Promise<RunRecord> {
    return this.saver.between(() => recordOf(this.replica, this.header, this.suspended));
  }

  /** Writes the record and the logs that changed. */
  save(): Promise<void> {
    return this.saver.save();
  }

  /** The run cannot move until `why` is seen to. */
  suspend(why: string): void {
    this.suspended = why;
    this.saver.changed([]);
    this.saveThenTell(this.lastRest);
  }

  /** The child run of the block at `place` has told how it stands. */
  heard(place: Place): void {
    if (this.unheard.size === 0 || !this.unheard.delete(placeKey(place)) || this.unheard.size > 0) return;
    this.restSeq = -1;
    this.checkRest();
  }

  /** Begins nothing new; resolves when what runs has ended and is recorded. */
  async windDown(): Promise<void> {
    this.performer.retire();
    await this.performer.drained();
    await this.driver.flushed();
  }

  /** Feeds nothing more: what happens from now on is found out again at the next start. */
  leave(): void {
    this.left = true;
    this.performer.retire();
    this.driver.stop();
  }

  /** Lets go of everything. Resolves when the record is written. */
  async stop(): Promise<void> {
    await this.driver.flushed();
    if (this.broken) return;
    const saving = this.saver.save();
    this.break(runLeft(this.runId));
    await saving;
  }

  /** Leaves memory: who holds it has to open the run again. */
  putAway(): void {
    this.away = true;
    this.leave();
  }

  private observe(batch: readonly AppliedEntry[]): void {
    for (const { entry, applied } of batch) {
      if ('block' in entry && entry.block !== undefined) this.performer.finished(entry as Place);
      if (this.listeners.curious)
        for (const event of eventsOf(this.replica, entry, applied)) this.emit(event);
      this.told = entry.seq;
    }
    this.saver.written();
  }

  private settled(): void {
    if (!this.broken && this.replica.idleState() !== 'ended') this.saver.soon();
    this.checkRest();
  }

  /** Tells who listens when the run has come to rest, also when it was at the same rest before and moved between. */
  private checkRest(): void {
    const [rest, seq] = [this.replica.idleState(), this.replica.seq];
    const same = rest === this.lastRest && (rest === 'running' || seq === this.restSeq);
    if (this.broken || same) return;
    this.lastRest = rest;
    this.restSeq = seq;
    if (rest === 'running') this.emit({ type: 'rest', rest });
    else this.saveThenTell(rest);
  }

  private saveThenTell(rest: IdleState): void {
    const seq = this.restSeq;
    this.saving = undefined;
    if (rest === 'ended' && this.saver.saved) return this.emit({ type: 'rest', rest });
    this.saving = this.saver.save().then(
      () => {
        // A run that moves again has told so already.
        if (seq === this.restSeq && !this.broken) this.emit({ type: 'rest', rest });
      },
      (error: unknown) => this.fail(error),
    );
  }

  private fail(error: unknown): void {
    if (this.broken) return;
    if (!this.left) this.parts.report(error, this.runId);
    this.break(error instanceof Error ? error : new Error(String(error)));
  }

  /** Stops at once, for `error`; nothing more is written. */
  break(error: Error): void {
    if (this.broken) return;
    this.broken = error;
    this.leave();
    this.performer.halt(error);
    this.saver.abandon(error);
    this.emit({ type: 'rest', rest: 'ended', error });
  }

  private emit(event: RawEvent): void {
    if (event.type === 'rest') this.parts.moved(event);
    this.listeners.tell(event);
  }
}
