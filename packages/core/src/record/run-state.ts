import type { Command, Transition } from '../machine/command.ts';
import type { Address, Event } from '../machine/event.ts';
import { countAt, workAt } from '../machine/locate.ts';
import { pendingCommands } from '../machine/pending-commands.ts';
import { idleState } from '../machine/state.ts';
import type { IdleState, State } from '../machine/state.ts';
import { advance, initialState } from '../machine/step.ts';
import { addressIn, indexPlan } from '../plan/index-plan.ts';
import type { PlanIndex } from '../plan/index-plan.ts';
import type { Plan } from '../plan/plan.ts';
import { EngineError, journalCorruptError } from '../errors.ts';
import { eventAt, JOURNAL_FORMAT } from './entry.ts';
import { startedEventOf } from './started-event.ts';
import type { Entry, Place } from './entry.ts';
import { placeKey, Ledger } from './ledger.ts';
import type { BlockLog } from './block-log.ts';
import { BlockLogs } from './block-logs.ts';
import type { PausePoint, RunFailure } from './run-record.ts';

/** The result of applying an entry. */
export interface ApplyResult {
  /** False: the entry was late or duplicate, and nothing changed. */
  changed: boolean;
  commands: Command[];
  transitions: Transition[];
  /** Logs of blocks that started, paused, continued or ended. */
  logs: BlockLog[];
}

const UNCHANGED: ApplyResult = { changed: false, commands: [], transitions: [], logs: [] };

/**
 * A run's state, data and logs, folded from its journal entry by entry.
 *
 * The driver of the run and any later reader get the same value from the same entries.
 */
export class RunState {
  readonly runId: string;
  readonly plan: Plan;
  readonly index: PlanIndex;
  readonly machineState: State = initialState();
  readonly ledger: Ledger;
  readonly pauses = new Map<string, PausePoint>();
  /** Number of pause points that people have answered. */
  resumedCount = 0;
  readonly logs: BlockLogs;
  seq = 0;
  startedMs: number | undefined;
  endedMs: number | undefined;
  error: RunFailure | undefined;

  constructor(runId: string, plan: Plan) {
    this.runId = runId;
    this.plan = plan;
    this.index = indexPlan(plan);
    this.ledger = new Ledger(plan, this.index);
    this.logs = new BlockLogs(runId, plan, this.index, this.ledger);
  }

  /** Applies the next entry. A late entry returns `changed: false` and must not be written to the journal. */
  apply(entry: Entry): ApplyResult {
    const event = this.#toEvent(entry);
    if (!event) return UNCHANGED;
    const outcome = advance(this.plan.skeleton, this.machineState, event);
    if (!outcome.changed) return UNCHANGED;
    this.seq = entry.seq;
    this.ledger.applyEntry(entry);
    this.logs.applyEntry(entry);
    this.#updatePauses(entry);
    for (const transition of outcome.transitions) {
      const place = this.index.placeOf(transition.at);
      this.ledger.applyTransition(transition, place);
      this.logs.applyTransition(transition, place, entry.atMs);
    }
    for (const command of outcome.commands) {
      this.logs.applyCommand(command, entry.atMs);
      if (command.type === 'abort') this.#closePause(this.index.placeOf(command.at));
      else if (command.type === 'end') this.#end(command, entry.atMs);
    }
    return {
      changed: true,
      commands: outcome.commands,
      transitions: outcome.transitions,
      logs: this.logs.takeChangedLogs(),
    };
  }

  /**
   * Applies the next entry of a stored journal. Throws JOURNAL_CORRUPT if it does not follow from the entries before
   * it.
   */
  replay(entry: Entry): ApplyResult {
    const applyResult = this.apply(entry);
    if (applyResult.changed) return applyResult;
    throw journalCorruptError(this.runId, `entry ${entry.seq} does not follow from the entries before it`);
  }

  /** Returns the commands without a result so far, which are carried out after a restart. */
  pendingCommands(): Command[] {
    return pendingCommands(this.plan.skeleton, this.machineState);
  }

  /**
   * Returns the deadline of the work at `at`, in milliseconds since the epoch: the earlier of its own and the run's;
   * undefined if there is none.
   */
  deadlineAt(at: Address): number | undefined {
    const work = workAt(this.plan.skeleton, this.machineState, at);
    const dueMs = work && 'dueMs' in work ? work.dueMs : undefined;
    const runDueMs = this.machineState.deadline?.dueMs;
    return dueMs === undefined || runDueMs === undefined ? (dueMs ?? runDueMs) : Math.min(dueMs, runDueMs);
  }

  /** Returns the number of the attempt in flight at `at`, from 1. */
  attemptAt(at: Address): number {
    const work = workAt(this.plan.skeleton, this.machineState, at);
    return work && 'try' in work ? work.try : 1;
  }

  /** Returns the number of iterations or branches of an open container, if known. */
  countAt(at: Address): number | undefined {
    return countAt(this.plan.skeleton, this.machineState, at);
  }

  idleState(): IdleState {
    return idleState(this.machineState);
  }

  #toEvent(entry: Entry): Event | undefined {
    if (entry.type === 'started') return this.#toStartedEvent(entry);
    if (entry.type === 'cancelled') return { type: 'cancelled', atMs: entry.atMs };
    if (entry.block === undefined) return eventAt(entry, []);
    const node = this.index.byId(entry.block);
    return node && eventAt(entry, addressIn(node, (entry as Place).scope));
  }

  #toStartedEvent(entry: Extract<Entry, { type: 'started' }>): Event | undefined {
    if (entry.format > JOURNAL_FORMAT)
      throw new EngineError(
        'DATA_FORMAT_UNSUPPORTED',
        `The journal of run ${this.runId} has format ${entry.format}; this version of Heddle reads formats up to ${JOURNAL_FORMAT}. Use a newer version.`,
      );
    this.startedMs = entry.atMs;
    return startedEventOf(this.index, entry);
  }

  #updatePauses(entry: Entry): void {
    if (entry.type === 'paused') {
      // A block in a drain does not pause.
      if (this.#isPaused(entry)) this.#openPause(entry);
    } else if (entry.type === 'resumed' || (entry.type === 'fired' && entry.timer === 'wait')) {
      if (entry.type === 'resumed') this.resumedCount += 1;
      this.#closePause(entry as Place);
    }
  }

  #openPause(entry: Extract<Entry, { type: 'paused' }>): void {
    const config = this.plan.blocks[entry.block];
    const format = config?.params['inputFormat'];
    this.pauses.set(placeKey(entry), {
      token: entry.token ?? '',
      blockId: entry.block,
      blockName: config?.name ?? entry.block,
      scope: entry.scope,
      kind: entry.kind,
      pausedMs: entry.atMs,
      dueMs: entry.dueMs,
      output: entry.output,
      inputFormat: format?.kind === 'literal' ? format.value : [],
      ...(entry.continues && { continues: attemptNumbers(entry) }),
    });
  }

  #isPaused({ block, scope }: Place): boolean {
    const work = workAt(this.plan.skeleton, this.machineState, this.index.addressOf(block, scope));
    return work?.w === 'pause' || work?.w === 'wait';
  }

  #closePause(place: Place): void {
    this.pauses.delete(placeKey(place));
  }

  #end(command: Extract<Command, { type: 'end' }>, atMs: number): void {
    this.endedMs = atMs;
    this.pauses.clear();
    if (command.status === 'completed') this.ledger.output ??= { v: {} };
    if (command.status !== 'failed') return;
    if (command.reason === 'deadline' || !command.at) {
      this.error = {
        code: 'RUN_TIMEOUT',
        message: 'The run took longer than its time limit.',
        retryable: true,
      };
      return;
    }
    const place = this.index.placeOf(command.at);
    const config = this.plan.blocks[place.block];
    this.error = {
      ...this.ledger.failureOf(command.at),
      blockId: place.block,
      ...(config && { blockName: config.name, blockType: config.type }),
      scope: place.scope,
    };
  }
}

function attemptNumbers({ try: attempt, resumes }: { try: number; resumes?: number }): {
  try: number;
  resumes?: number;
} {
  return resumes === undefined ? { try: attempt } : { try: attempt, resumes };
}
