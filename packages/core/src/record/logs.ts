import type { Command, Notice } from '../machine/command.ts';
import type { PlanIndex } from '../plan/index-plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { BlockFailure, Entry, Place } from './entry.ts';
import { key } from './ledger.ts';
import type { Ledger } from './ledger.ts';
import type { BlockLog, LogScope } from './log.ts';
import type { Stored } from './stored.ts';

/** The block logs of a run: a projection of its journal, kept as it grows. Logs that have ended are handed out and forgotten. */
export class Logs {
  private readonly open = new Map<string, BlockLog>();
  private readonly entered = new Map<string, number>();
  private readonly starts = new Map<string, number>();
  private readonly numbers = new Map<string, number>();
  private order = 0;
  private changed: BlockLog[] = [];
  private readonly runId: string;
  private readonly plan: Plan;
  private readonly index: PlanIndex;
  private readonly ledger: Ledger;

  constructor(runId: string, plan: Plan, index: PlanIndex, ledger: Ledger) {
    this.runId = runId;
    this.plan = plan;
    this.index = index;
    this.ledger = ledger;
  }

  /** Logs that changed since the last call, oldest first. */
  take(): BlockLog[] {
    const { changed } = this;
    if (changed.length > 0) this.changed = [];
    return changed;
  }

  record(entry: Entry): void {
    if (entry.type === 'completed') {
      this.end(entry, { status: 'completed', output: entry.output, ...ran(entry) }, entry.atMs);
    } else if (entry.type === 'failed') {
      this.note(entry, { error: entry.error, ...ran(entry) });
    } else if (entry.type === 'paused') {
      this.note(entry, { status: 'paused', output: entry.output, ...ran(entry) }, true);
    } else if (entry.type === 'resumed') {
      this.end(entry, { status: 'completed', output: entry.output }, entry.atMs);
    } else if (entry.type === 'fired' && entry.timer === 'wait') this.complete(entry as Place, entry.atMs);
  }

  notice(notice: Notice, atMs: number): void {
    if (notice.type === 'entered') this.entered.set(key(this.index.placeOf(notice.at)), atMs);
    if (notice.type !== 'exited' && notice.type !== 'failed') return;
    const place = this.index.placeOf(notice.at);
    const id = key(place);
    if (this.plan.blocks[place.block]?.container) {
      this.start(place, this.entered.get(id) ?? atMs);
      this.entered.delete(id);
    }
    if (notice.type === 'exited') this.complete(place, atMs);
    else this.fail(place, notice, atMs);
  }

  private fail(place: Place, notice: Extract<Notice, { type: 'failed' }>, atMs: number): void {
    const error = this.ledger.latest;
    this.end(
      place,
      { status: 'failed', error, output: { v: { error: error.message } }, errorHandled: notice.handled },
      atMs,
    );
  }

  private complete(place: Place, atMs: number): void {
    const output = this.ledger.scopeAt(place)?.outputs.get(place.block)?.value;
    this.end(place, { status: 'completed', ...(output && { output }) }, atMs);
  }

  command(command: Command, atMs: number): void {
    if (command.type === 'run' && command.try === 1)
      this.changed.push(this.start(this.index.placeOf(command.at), atMs));
    else if (command.type === 'abort' && command.why !== 'timeout' && command.at.length % 2 === 1) {
      this.end(this.index.placeOf(command.at), { status: 'cancelled' }, atMs);
    }
  }

  private start(place: Place, atMs: number): BlockLog {
    const config = this.plan.blocks[place.block];
    const around = this.ledger.containersOf(place.block);
    const scopes = around.map((blockId, depth): LogScope => ({
      kind: this.ledger.kindOf(blockId),
      blockId,
      index: place.scope[depth] ?? 0,
    }));
    const log: BlockLog = {
      runId: this.runId,
      blockId: place.block,
      blockName: config?.name ?? place.block,
      blockType: config?.type ?? 'unknown',
      executionOrder: ++this.order,
      status: 'running',
      startedMs: atMs,
      endedMs: undefined,
      durationMs: undefined,
      errorHandled: false,
      tries: 1,
      input: undefined,
      output: undefined,
      error: undefined,
      container: scopes.pop(),
      parents: scopes,
    };
    const started = this.starts.get(place.block) ?? 0;
    this.starts.set(place.block, started + 1);
    const id = key(place);
    this.numbers.set(id, started);
    this.open.set(id, log);
    return log;
  }

  /** How many runs of the block came before the one that is open at `place`. */
  nth(place: Place): number {
    return this.numbers.get(key(place)) ?? 0;
  }

  private note(place: Place, change: Partial<BlockLog>, publish = false): void {
    const log = this.open.get(key(place));
    if (!log) return;
    Object.assign(log, change);
    if (publish) this.changed.push(log);
  }

  private end(place: Place, change: Partial<BlockLog>, atMs: number): void {
    const id = key(place);
    const log = this.open.get(id);
    if (!log) return;
    this.open.delete(id);
    this.numbers.delete(id);
    Object.assign(log, change);
    log.endedMs = atMs;
    log.durationMs = Math.max(0, atMs - log.startedMs);
    if (log.status === 'completed') log.error = undefined;
    this.changed.push(log);
  }
}

function ran(entry: {
  try: number;
  startedMs: number;
  input?: Stored;
  error?: BlockFailure;
}): Partial<BlockLog> {
  // The first try's start is the block's; later tries only raise the count.
  return {
    tries: entry.try,
    ...(entry.try === 1 && { startedMs: entry.startedMs }),
    ...(entry.input && { input: entry.input }),
  };
}
