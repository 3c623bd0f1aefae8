import type { BlockLog, NewRun, Plan } from '@heddle/core';
import { Replica } from '@heddle/core/run';
import type { Entry } from '@heddle/core/run';
import { recordOf } from '../../records/run-record.ts';
import { runNotFound } from '../../records/run-errors.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { applyEntry } from '../../records/fold.ts';
import { journalCorrupt } from '../../store/errors.ts';
import type { OrderItem, Position, Timed } from './position.ts';
import type { Pulse } from './stall-detector.ts';

export type FollowerParts = Pick<RuntimeParts, 'stores' | 'values' | 'definitions'> & { pulse: Pulse };

/**
 * A run as this process knows it, while another place says what happens in it and in which order: a replica, brought
 * up to where that place is, and the store brought up with it.
 */
export class Follower {
  readonly header: NewRun;
  readonly plan: Plan;
  replica: Replica;
  /** Id of the last item that the replica has taken in. */
  private tip = 'start';
  /** The replica holds entries whose place in the journal is not certain. */
  private guessed = false;
  private readonly parts: FollowerParts;
  /** Logs that have changed and were not saved. */
  private logs = new Map<number, BlockLog>();
  private dirty = true;

  private constructor(parts: FollowerParts, header: NewRun, plan: Plan) {
    this.parts = parts;
    this.header = header;
    this.plan = plan;
    this.replica = new Replica(header.runId, plan);
  }

  /** The run as it was recorded. Throws RUN_NOT_FOUND, PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT. */
  static async of(parts: FollowerParts, runId: string): Promise<Follower> {
    const header = await parts.stores.runs.header(runId);
    if (!header) throw runNotFound(runId);
    return new Follower(parts, header, await parts.definitions.plan(header.planHash));
  }

  /** Writes what is not written yet, and brings the replica to `position`. Throws JOURNAL_CORRUPT, VALUE_MISSING, RUN_ELSEWHERE, and faults of the stores. */
  async catchUp({ seq, tip, unwritten }: Position): Promise<void> {
    const { runs } = this.parts.stores;
    const { runId } = this.header;
    const fresh = await this.write({ unwritten });
    if (!this.isAt(seq, tip)) {
      // What was guessed may have turned out otherwise.
      if (!this.isBefore({ seq, tip, unwritten })) this.restart();
      const from = this.replica.seq;
      const at = fresh.findIndex((entry) => entry.seq === from + 1);
      const entries = at >= 0 ? fresh.slice(at) : await runs.tail(runId, from === 0 ? -1 : from);
      for (const entry of entries) if (entry.seq <= seq) this.apply(entry);
      if (this.replica.seq !== seq)
        throw journalCorrupt(runId, `it ends at entry ${this.replica.seq}, and ${seq} were written`);
    }
    this.tip = tip;
    this.guessed = false;
  }

  /** Writes what is not written yet; the replica stays where it is. */
  async write({ unwritten }: Pick<Position, 'unwritten'>): Promise<Entry[]> {
    const entries = await this.entriesOf(unwritten);
    if (entries.length > 0) await this.upsert(entries);
    return entries;
  }

  /** It is on the way to `position`, or there. */
  isBefore({ seq, tip, unwritten }: Position): boolean {
    if (this.isAt(seq, tip)) return true;
    return this.replica.seq < seq && (!this.guessed || this.confirmedBy(unwritten));
  }

  /** It knows for certain of more than `other`. */
  isPast(other: Follower): boolean {
    return !this.guessed && this.replica.seq > other.replica.seq;
  }

  private isAt(seq: number, tip: string): boolean {
    return this.replica.seq === seq && this.tip === tip;
  }

  /** The guess has its place among `items`, at which nothing else has come between. */
  private confirmedBy(items: readonly OrderItem[]): boolean {
    const at = items.findIndex(({ id }) => id === this.tip);
    return at >= 0 && items[at + 1]?.seq === this.replica.seq + 1;
  }

  private restart(): void {
    this.replica = new Replica(this.header.runId, this.plan);
    this.logs.clear();
    this.guessed = false;
  }

  private apply(entry: Entry): void {
    this.changed(applyEntry(this.replica, entry).logs);
  }

  private changed(logs: readonly BlockLog[]): void {
    this.dirty = true;
    for (const log of logs) this.logs.set(log.executionOrder, log);
  }

  /** The replica has been taken on by entries that are to become item `id`: a guess, until a position says so. */
  guess(id: string, logs: readonly BlockLog[]): void {
    this.tip = id;
    this.guessed = true;
    this.changed(logs);
  }

  /** Writes what has ended the run, by which the replica has been taken on, with record and logs. */
  async close(entries: readonly Timed[]): Promise<void> {
    const first = this.replica.seq - entries.length + 1;
    const numbered = entries.map((body, index): Entry => ({ ...body, seq: first + index }));
    await this.upsert(numbered);
    await this.save();
  }

  /** Writes the record and the logs. `suspended`: why the run does not move. */
  async save(suspended?: string): Promise<void> {
    if (!this.dirty && suspended === undefined) return;
    const logs = [...this.logs];
    const record = recordOf(this.replica, this.header, suspended);
    this.dirty = suspended !== undefined;
    const changed = logs.map(([, log]) => log);
    this.parts.pulse.expectBeating(record.runId);
    // Refused: a lost process has told of more than has come of it, and what it said of the logs may be wrong.
    if (!(await this.parts.stores.runs.saveRecord(record, changed))) return;
    for (const [order, log] of logs) if (this.logs.get(order) === log) this.logs.delete(order);
  }

  /** Others have written the logs up to here. */
  forgetLogs(): void {
    this.logs.clear();
    this.dirty = false;
  }

  private async upsert(entries: readonly Entry[]): Promise<void> {
    const { runId } = this.header;
    this.parts.pulse.expectBeating(runId);
    await this.parts.stores.runs.upsert(runId, entries);
  }

  private async entriesOf(items: readonly OrderItem[]): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const { seq, chunk, skip = [] } of items) {
      const bodies = (await this.parts.values.load(chunk)) as unknown as Timed[];
      const counted = bodies.filter((_, index) => !skip.includes(index));
      counted.forEach((body, index) => entries.push({ ...body, seq: seq + index }));
    }
    return entries;
  }
}
