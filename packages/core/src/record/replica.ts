import type { Command, Notice } from '../machine/command.ts';
import type { Address, Event } from '../machine/event.ts';
import { countAt, workAt } from '../machine/locate.ts';
import { pendingCommands } from '../machine/pending-commands.ts';
import { idleState } from '../machine/state.ts';
import type { IdleState, State } from '../machine/state.ts';
import { advance, initialState } from '../machine/step.ts';
import { addressIn, indexPlan } from '../plan/index-plan.ts';
import type { PlanIndex } from '../plan/index-plan.ts';
import type { Plan } from '../plan/plan.ts';
import { EngineError } from '../errors.ts';
import { JOURNAL_FORMAT } from './entry.ts';
import type { Entry, Place } from './entry.ts';
import { eventAt } from './event-of.ts';
import { placeKey, Ledger } from './ledger.ts';
import type { BlockLog } from './log.ts';
import { Logs } from './logs.ts';
import type { PausePoint, RunFailure } from './run.ts';

/** What an entry has led to. */
export interface Applied {
  /** False: late or duplicate; nothing has changed. */
  changed: boolean;
  commands: Command[];
  notices: Notice[];
  /** Block logs that started, paused or ended. */
  logs: BlockLog[];
}

const NOTHING: Applied = { changed: false, commands: [], notices: [], logs: [] };

/**
 * A run as its journal tells it: machine, data and logs, folded entry by entry.
 *
 * The driver that runs it and whoever reads it later build the same value from the same entries.
 */
export class Replica {
  readonly runId: string;
  readonly plan: Plan;
  readonly index: PlanIndex;
  readonly state: State = initialState();
  readonly ledger: Ledger;
  readonly pauses = new Map<string, PausePoint>();
  readonly logs: Logs;
  seq = 0;
  startedMs: number | undefined;
  endedMs: number | undefined;
  error: RunFailure | undefined;

  constructor(runId: string, plan: Plan) {
    this.runId = runId;
    this.plan = plan;
    this.index = indexPlan(plan);
    this.ledger = new Ledger(plan, this.index);
    this.logs = new Logs(runId, plan, this.index, this.ledger);
  }

  /** Takes in the next entry. One that comes late is refused (`changed: false`) and must not be written to the journal. */
  apply(entry: Entry): Applied {
    const event = this.toEvent(entry);
    if (!event) return NOTHING;
    const outcome = advance(this.plan.skeleton, this.state, event);
    if (!outcome.changed) return NOTHING;
    this.seq = entry.seq;
    this.ledger.record(entry);
    this.logs.record(entry);
    this.updatePauses(entry);
    for (const notice of outcome.notices) {
      const place = this.index.placeOf(notice.at);
      this.ledger.note(notice, place);
      this.logs.notice(notice, place, entry.atMs);
    }
    for (const command of outcome.commands) {
      this.logs.command(command, entry.atMs);
      if (command.type === 'abort') this.closePause(this.index.placeOf(command.at));
      else if (command.type === 'end') this.end(command, entry.atMs);
    }
    return { changed: true, commands: outcome.commands, notices: outcome.notices, logs: this.logs.take() };
  }

  /** Commands that are still owed, after a restart. */
  pendingCommands(): Command[] {
    return pendingCommands(this.plan.skeleton, this.state);
  }

  /** When the time of the work at `at` is up, its own or the run's, in milliseconds since the epoch; undefined: never. */
  deadlineAt(at: Address): number | undefined {
    const own = workAt(this.plan.skeleton, this.state, at);
    const dueMs = own && 'dueMs' in own ? own.dueMs : undefined;
    const runMs = this.state.deadline?.dueMs;
    return dueMs === undefined || runMs === undefined ? (dueMs ?? runMs) : Math.min(dueMs, runMs);
  }

  /** The try in flight at `at`, from 1. */
  attemptAt(at: Address): number {
    const work = workAt(this.plan.skeleton, this.state, at);
    return work && 'try' in work ? work.try : 1;
  }

  /** Turns or branches in all of an open container, when they are known. */
  countAt(at: Address): number | undefined {
    return countAt(this.plan.skeleton, this.state, at);
  }

  idleState(): IdleState {
    return idleState(this.state);
  }

  private toEvent(entry: Entry): Event | undefined {
    if (entry.type === 'started') return this.toStartedEvent(entry);
    if (entry.type === 'cancelled') return { type: 'cancelled', atMs: entry.atMs };
    if (entry.block === undefined) return eventAt(entry, []);
    const spot = this.index.byId(entry.block);
    return spot && eventAt(entry, addressIn(spot, (entry as Place).scope));
  }

  private toStartedEvent(entry: Extract<Entry, { type: 'started' }>): Event | undefined {
    if (entry.format > JOURNAL_FORMAT)
      throw new EngineError(
        'DATA_FORMAT_UNSUPPORTED',
        `The journal of run ${this.runId} has format ${entry.format}; this Heddle reads formats up to ${JOURNAL_FORMAT}. Use a newer Heddle.`,
      );
    this.startedMs = entry.atMs;
    const start = this.index.topIndex(entry.start);
    const until = entry.until === undefined ? undefined : this.index.topIndex(entry.until);
    if (start === undefined) return undefined;
    return {
      type: 'started',
      atMs: entry.atMs,
      start,
      graceMs: entry.graceMs,
      ...(until !== undefined && { until }),
      ...(entry.timeoutMs !== undefined && { timeoutMs: entry.timeoutMs }),
      ...(entry.activeOnly && { activeOnly: true }),
    };
  }

  private updatePauses(entry: Entry): void {
    if (entry.type === 'paused') {
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
      });
    } else if (entry.type === 'resumed' || (entry.type === 'fired' && entry.timer === 'wait'))
      this.closePause(entry as Place);
  }

  private closePause(place: Place): void {
    this.pauses.delete(placeKey(place));
  }

  private end(command: Extract<Command, { type: 'end' }>, atMs: number): void {
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
