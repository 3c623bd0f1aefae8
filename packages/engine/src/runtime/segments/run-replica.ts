import type { BlockLog, RunHeader, Plan } from '@heddle/core';
import { journalCorruptError, RunState } from '@heddle/core/run';
import type { Entry } from '@heddle/core/run';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { foldRun } from '../../records/fold.ts';
import { readDefinition } from '../../records/read-run.ts';
import { recordOf } from '../../records/run-record.ts';
import type { JournalItem, Position, TimedEntry } from './position.ts';
import type { StallDetector } from './stall-detector.ts';

export type RunReplicaDependencies = Pick<RuntimeDependencies, 'stores' | 'values' | 'definitions'> & {
  stallDetector: StallDetector;
};

/**
 * A copy of a run that another process drives. It brings its replica and the stores up to the positions that the other
 * process reports.
 */
export class RunReplica {
  readonly header: RunHeader;
  readonly plan: Plan;
  runState: RunState;
  /** Id of the last item that the replica includes. */
  #lastItemId = 'start';
  /** Time of the last entry that the replica includes. */
  #lastEntryMs: number | undefined;
  /** True if the replica includes entries whose position in the journal is not confirmed. */
  #isSpeculative = false;
  readonly #dependencies: RunReplicaDependencies;
  /** Changed logs that are not saved yet, by their execution order. */
  #changedLogs = new Map<number, BlockLog>();
  #isDirty = true;
  /** Number of all logs of the run. */
  #logCount = 0;

  private constructor(dependencies: RunReplicaDependencies, header: RunHeader, plan: Plan) {
    this.#dependencies = dependencies;
    this.header = header;
    this.plan = plan;
    this.runState = new RunState(header.runId, plan);
  }

  /** Returns a replica of a recorded run. Throws RUN_NOT_FOUND, PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT. */
  static async create(dependencies: RunReplicaDependencies, runId: string): Promise<RunReplica> {
    const { header, plan } = await readDefinition(dependencies, runId);
    return new RunReplica(dependencies, header, plan);
  }

  /**
   * Writes the unwritten entries and brings the replica to `position`. Throws JOURNAL_CORRUPT, VALUE_MISSING,
   * RUN_ELSEWHERE, and errors of the stores.
   */
  async catchUp({ seq, tip, unwritten }: Position): Promise<void> {
    const { runs } = this.#dependencies.stores;
    const { runId } = this.header;
    await this.write({ unwritten });
    if (!this.#isAt(seq, tip)) {
      // Speculative entries might be missing from the journal.
      if (!this.canReach({ seq, tip, unwritten })) this.#reset();
      let entries = await runs.tail(runId, this.runState.seq - 1);
      if (this.runState.seq > 0 && entries[0]?.atMs !== this.#lastEntryMs) {
        // The last entry here is from a lost task, and the run has continued without it.
        this.#reset();
        entries = await runs.tail(runId, -1);
      }
      for (const entry of entries)
        if (entry.seq > this.runState.seq && entry.seq <= seq)
          this.#addChanges(entry, this.runState.replay(entry).logs);
      if (this.runState.seq !== seq)
        throw journalCorruptError(runId, `it ends at entry ${this.runState.seq}, and ${seq} were written`);
    }
    this.#lastItemId = tip;
    this.#isSpeculative = false;
  }

  /** Writes the unwritten entries and does not change the replica. */
  async write({ unwritten }: Pick<Position, 'unwritten'>): Promise<void> {
    const entries = await this.#entriesOf(unwritten);
    if (entries.length > 0) await this.#upsert(entries);
  }

  /** True if the replica is at `position` or can reach it by applying further entries. */
  canReach({ seq, tip, unwritten }: Position): boolean {
    if (this.#isAt(seq, tip)) return true;
    return this.runState.seq < seq && (!this.#isSpeculative || this.#isConfirmedBy(unwritten));
  }

  /** True if all entries of this replica are confirmed, and they are more than those of `other`. */
  isAheadOf(other: RunReplica): boolean {
    return !this.#isSpeculative && this.runState.seq > other.runState.seq;
  }

  #isAt(seq: number, itemId: string): boolean {
    return this.runState.seq === seq && this.#lastItemId === itemId;
  }

  /** True if `items` contain the speculative entries at the same position as the replica. */
  #isConfirmedBy(items: readonly JournalItem[]): boolean {
    const index = items.findIndex(({ id }) => id === this.#lastItemId);
    return index >= 0 && items[index + 1]?.seq === this.runState.seq + 1;
  }

  #reset(): void {
    this.runState = new RunState(this.header.runId, this.plan);
    this.#changedLogs.clear();
    this.#logCount = 0;
    this.#isSpeculative = false;
  }

  /** Records that the replica now ends with `lastEntry`, and that `logs` have changed. */
  #addChanges(lastEntry: TimedEntry | undefined, logs: readonly BlockLog[]): void {
    this.#isDirty = true;
    this.#lastEntryMs = lastEntry?.atMs;
    for (const log of logs) {
      this.#changedLogs.set(log.executionOrder, log);
      this.#logCount = Math.max(this.#logCount, log.executionOrder);
    }
  }

  /**
   * Records that the replica was advanced by entries that will become item `id`. The entries are speculative until a
   * position confirms them.
   */
  markAdvanced(
    id: string,
    { entries, logs }: { entries: readonly TimedEntry[]; logs: readonly BlockLog[] },
  ): void {
    this.#lastItemId = id;
    this.#isSpeculative = true;
    this.#addChanges(entries.at(-1), logs);
  }

  /** Writes the entries that end the run, with the record and the logs. The replica already includes the entries. */
  async close(entries: readonly TimedEntry[]): Promise<void> {
    const firstSeq = this.runState.seq - entries.length + 1;
    await this.#upsert(entries.map((body, index): Entry => ({ ...body, seq: firstSeq + index })));
    await this.save();
    await this.removeLostEntries();
  }

  /**
   * Removes later entries of a lost process, with the record and the logs that it saved, if the run is idle here.
   *
   * If the result of a task is lost, the run continues without the entries that the task wrote. Later entries replace
   * them, but an idle run writes none, and the store refuses its record, because the record of the lost process has
   * more entries. Later logs replace those of the task too, but an ended run may have started fewer blocks than the
   * task. Must be called only while no other work of the run is in flight.
   */
  async removeLostEntries(): Promise<void> {
    const idleState = this.runState.idleState();
    if (idleState === 'running') return;
    const { runs } = this.#dependencies.stores;
    const { header, plan } = this;
    const { runId, seq } = this.runState;
    const hasLaterEntries = (await runs.tail(runId, seq)).length > 0;
    if (!hasLaterEntries && (idleState !== 'ended' || (await runs.lastLogOrder(runId)) <= this.#logCount))
      return;
    const journal = await runs.journal(runId);
    const freshRunState = new RunState(runId, plan);
    // If the later entries follow from the earlier ones, the run has continued, and this position is outdated.
    if (hasLaterEntries && journal.every((entry) => freshRunState.apply(entry).changed)) return;
    const remainingEntries = journal.filter((entry) => entry.seq <= seq);
    const { record, logs } = foldRun({ header, plan, suspensionReason: undefined }, remainingEntries);
    this.#dependencies.stallDetector.requireNoStall(runId);
    await runs.truncate(record, logs);
    this.#changedLogs.clear();
    this.#isDirty = false;
  }

  /** Writes the record and the changed logs. `suspensionReason`: the reason why the run does not continue. */
  async save(suspensionReason?: string): Promise<void> {
    if (!this.#isDirty && suspensionReason === undefined) return;
    const changedLogPairs = [...this.#changedLogs];
    const record = recordOf(this.runState, this.header, suspensionReason);
    this.#isDirty = suspensionReason !== undefined;
    const changedLogs = changedLogPairs.map(([, log]) => log);
    this.#dependencies.stallDetector.requireNoStall(record.runId);
    // If a lost process has saved a later record, the store refuses this one. The logs stay unsaved here, because the
    // logs of that process may be wrong.
    if (!(await this.#dependencies.stores.runs.saveRecord(record, changedLogs))) return;
    for (const [order, log] of changedLogPairs)
      if (this.#changedLogs.get(order) === log) this.#changedLogs.delete(order);
  }

  async #upsert(entries: readonly Entry[]): Promise<void> {
    const { runId } = this.header;
    this.#dependencies.stallDetector.requireNoStall(runId);
    await this.#dependencies.stores.runs.upsert(runId, entries);
  }

  async #entriesOf(items: readonly JournalItem[]): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const { seq, chunk, skip = [] } of items) {
      const bodies = (await this.#dependencies.values.load(chunk)) as unknown as TimedEntry[];
      const acceptedBodies = bodies.filter((_, index) => !skip.includes(index));
      acceptedBodies.forEach((body, index) => entries.push({ ...body, seq: seq + index }));
    }
    return entries;
  }
}
