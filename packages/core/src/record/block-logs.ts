import type { Command, Transition } from '../machine/command.ts';
import type { PlanIndex } from '../plan/index-plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { Entry, Place } from './entry.ts';
import { placeKey } from './ledger.ts';
import type { Ledger } from './ledger.ts';
import type { BlockLog, LogScope } from './block-log.ts';
import type { StoredValue } from './stored-value.ts';

/** The log of a block that has not ended. */
interface OpenLog {
  log: BlockLog;
  /** Number of earlier executions of the block. */
  earlierExecutions: number;
  /** True if the next answer continues the block. */
  continues: boolean;
}

/** Shared by the logs of all top-level blocks. */
const NO_SCOPES: LogScope[] = Object.freeze([]) as never[];

/**
 * The block logs of a run: a projection of its journal, updated entry by entry. Logs of ended blocks are kept only
 * until `takeChangedLogs` returns them.
 */
export class BlockLogs {
  readonly #openLogs = new Map<string, OpenLog>();
  readonly #enteredMsByPlace = new Map<string, number>();
  readonly #executionCounts = new Map<string, number>();
  #order = 0;
  #changedLogs: BlockLog[] = [];
  readonly #runId: string;
  readonly #plan: Plan;
  readonly #index: PlanIndex;
  readonly #ledger: Ledger;

  constructor(runId: string, plan: Plan, index: PlanIndex, ledger: Ledger) {
    this.#runId = runId;
    this.#plan = plan;
    this.#index = index;
    this.#ledger = ledger;
  }

  /** Returns the logs that changed since the last call, oldest first. */
  takeChangedLogs(): BlockLog[] {
    const changedLogs = this.#changedLogs;
    if (changedLogs.length > 0) this.#changedLogs = [];
    return changedLogs;
  }

  /** Applies an entry that ends, fails, pauses or continues a block. */
  applyEntry(entry: Entry): void {
    if (entry.type === 'completed') {
      const log = this.#close(entry);
      if (log) this.#end(addAttempt(log, entry), 'completed', entry.output, entry.atMs);
    } else if (entry.type === 'failed' || entry.type === 'paused') this.#recordOpenAttempt(entry);
    else if (entry.type === 'resumed' && this.#openLogs.get(placeKey(entry))?.continues)
      this.#continue(entry);
    else if (entry.type === 'resumed') {
      const log = this.#close(entry);
      if (log) this.#end(log, 'completed', entry.output, entry.atMs);
    } else if (entry.type === 'fired' && entry.timer === 'wait') this.#complete(entry as Place, entry.atMs);
  }

  /** Records an attempt that did not end the block. */
  #recordOpenAttempt(entry: Extract<Entry, { type: 'failed' | 'paused' }>): void {
    const openLog = this.#openLogs.get(placeKey(entry));
    if (!openLog) return;
    const { log } = openLog;
    addAttempt(log, entry);
    if (entry.type === 'failed') {
      log.error = entry.error;
      return;
    }
    log.status = 'paused';
    log.output = entry.output;
    openLog.continues = entry.continues === true;
    this.#changedLogs.push(log);
  }

  /** Records that a person has answered a block, which runs again. */
  #continue(place: Place): void {
    const openLog = this.#openLogs.get(placeKey(place)) as OpenLog;
    openLog.continues = false;
    openLog.log.status = 'running';
    openLog.log.output = undefined;
    this.#changedLogs.push(openLog.log);
  }

  /** Applies a structural change at the node of `place`. */
  applyTransition(transition: Transition, place: Place, atMs: number): void {
    if (transition.type === 'entered') this.#enteredMsByPlace.set(placeKey(place), atMs);
    if (transition.type !== 'exited' && transition.type !== 'failed') return;
    if (this.#plan.blocks[place.block]?.container) {
      const key = placeKey(place);
      this.#start(place, this.#enteredMsByPlace.get(key) ?? atMs);
      this.#enteredMsByPlace.delete(key);
    }
    if (transition.type === 'exited') this.#complete(place, atMs);
    else this.#fail(place, transition, atMs);
  }

  #fail(place: Place, transition: Extract<Transition, { type: 'failed' }>, atMs: number): void {
    const log = this.#close(place);
    if (!log) return;
    log.error = this.#ledger.latestFailure;
    log.errorHandled = transition.handled;
    this.#end(log, 'failed', { v: { error: log.error.message } }, atMs);
  }

  #complete(place: Place, atMs: number): void {
    const log = this.#close(place);
    if (log) this.#end(log, 'completed', this.#ledger.scopeAt(place)?.outputs.get(place.block)?.value, atMs);
  }

  /** Applies a command of the machine: the first `run` of a block opens its log, an `abort` ends it as cancelled. */
  applyCommand(command: Command, atMs: number): void {
    if (command.type === 'run' && command.try === 1 && command.resumes === undefined)
      this.#changedLogs.push(this.#start(this.#index.placeOf(command.at), atMs));
    else if (command.type === 'abort' && command.why !== 'timeout' && command.at.length % 2 === 1) {
      const log = this.#close(this.#index.placeOf(command.at));
      if (log) this.#end(log, 'cancelled', undefined, atMs);
    }
  }

  #start(place: Place, atMs: number): BlockLog {
    const config = this.#plan.blocks[place.block];
    const scopes = this.#scopesOf(place);
    const log: BlockLog = {
      runId: this.#runId,
      blockId: place.block,
      blockName: config?.name ?? place.block,
      blockType: config?.type ?? 'unknown',
      executionOrder: ++this.#order,
      status: 'running',
      startedMs: atMs,
      endedMs: undefined,
      durationMs: undefined,
      errorHandled: false,
      tries: 1,
      input: undefined,
      output: undefined,
      error: undefined,
      container: scopes.at(-1),
      parents: scopes.length > 1 ? scopes.slice(0, -1) : NO_SCOPES,
    };
    const earlierExecutions = this.#executionCounts.get(place.block) ?? 0;
    this.#executionCounts.set(place.block, earlierExecutions + 1);
    this.#openLogs.set(placeKey(place), { log, earlierExecutions, continues: false });
    return log;
  }

  #scopesOf({ block, scope }: Place): LogScope[] {
    if (scope.length === 0) return NO_SCOPES;
    const containers = this.#index.byId(block)?.containers ?? [];
    return containers.map(({ id, kind }, depth) => ({
      kind: kind === 'parallel' ? kind : 'loop',
      blockId: id,
      index: scope[depth] ?? 0,
    }));
  }

  /** Returns the number of executions of the block before the open execution at `place`. */
  earlierExecutionsAt(place: Place): number {
    return this.#openLogs.get(placeKey(place))?.earlierExecutions ?? 0;
  }

  #close(place: Place): BlockLog | undefined {
    const key = placeKey(place);
    const openLog = this.#openLogs.get(key);
    if (openLog) this.#openLogs.delete(key);
    return openLog?.log;
  }

  #end(log: BlockLog, status: BlockLog['status'], output: StoredValue | undefined, atMs: number): void {
    log.status = status;
    if (output) log.output = output;
    log.endedMs = atMs;
    log.durationMs = Math.max(0, atMs - log.startedMs);
    if (status === 'completed') log.error = undefined;
    this.#changedLogs.push(log);
  }
}

/**
 * Adds an attempt to the log. The start of the first attempt is the block's start; later attempts, and attempts that
 * continue after a pause, only increase the count.
 */
function addAttempt(
  log: BlockLog,
  entry: { try: number; resumes?: number; startedMs: number; input?: StoredValue },
): BlockLog {
  log.tries = entry.try;
  if (entry.try === 1 && entry.resumes === undefined) log.startedMs = entry.startedMs;
  if (entry.input) log.input = entry.input;
  return log;
}
