import type { Clock } from '@heddle/core';
import type { Command, Entry, EntryBody, RunState } from '@heddle/core/run';
import type { AppliedEntry } from '../../records/fold.ts';

/** Number of batches after which the driver lets other work of the process run. */
const BATCHES_PER_YIELD = 256;

interface DriverOptions {
  runState: RunState;
  clock: Clock;
  /** Writes entries as durably as the deployment requires. */
  append(batch: readonly AppliedEntry[]): Promise<void> | void;
  /** Executes a command. Its results arrive as calls of `post`. */
  execute(command: Command): void;
  /** Called when entries are written, before their commands are executed. */
  onWritten(batch: readonly AppliedEntry[]): void;
  /** Called before the driver yields to other work. */
  onYield(): void;
  /** Called when the journal cannot be written: the run must stop, and continues from its journal later. */
  onError(error: unknown): void;
  /** Called when the inbox is empty. */
  onIdle(): void;
}

/** The outcome of a posted entry: it was written, ignored because it was late, or dropped because the run stopped. */
export type PostResult = 'written' | 'ignored' | 'stopped';

export type PostListener = (result: PostResult) => void;

/**
 * The event loop of one run: applies posted entries to the state of the run, writes them, and executes the resulting
 * commands.
 *
 * 1. An entry is written before any command that results from it is executed.
 * 2. The driver contains no rules: the machine decides what happens next.
 */
export class Driver {
  readonly #options: DriverOptions;
  readonly #inbox = new Inbox();
  readonly #idleListeners: (() => void)[] = [];
  /** True while entries are processed. */
  isBusy = false;
  /** True while the state of the run includes entries that the journal does not contain yet. */
  isWriting = false;

  constructor(options: DriverOptions) {
    this.#options = options;
  }

  post(body: EntryBody, listener?: PostListener): void {
    this.#inbox.post(body, listener);
    if (!this.isBusy && !this.#inbox.isEmpty) void this.#pump();
  }

  /**
   * Executes commands that result from entries that are already written. Like those of a batch, they all begin before
   * the first result is applied (rule R6 in docs/semantics.md).
   */
  begin(commands: readonly Command[]): void {
    void this.#pump(commands);
  }

  /** Resolves when the inbox is empty. */
  whenFlushed(): Promise<void> {
    return this.isBusy ? new Promise((resolve) => this.#idleListeners.push(resolve)) : Promise.resolve();
  }

  /** Drops all further entries. */
  stop(): void {
    this.#inbox.close();
  }

  async #pump(commands: readonly Command[] = []): Promise<void> {
    this.isBusy = true;
    try {
      for (const command of commands) this.#options.execute(command);
      for (let batchNumber = 1; !this.#inbox.isEmpty; batchNumber++) {
        const batch = this.#apply();
        if (batch.length === 0) continue;
        const write = this.#options.append(batch);
        this.isWriting = write !== undefined;
        if (write ?? batchNumber % BATCHES_PER_YIELD === 0) {
          this.#options.onYield();
          await (write ?? new Promise(setImmediate));
        }
        this.isWriting = false;
        this.#options.onWritten(batch);
        this.#inbox.onBatchWritten();
        for (const { applyResult } of batch)
          for (const command of applyResult.commands) this.#options.execute(command);
      }
    } catch (error) {
      this.#inbox.onBatchFailed();
      this.#options.onError(error);
    }
    this.isWriting = this.isBusy = false;
    for (const resolve of this.#idleListeners.splice(0)) resolve();
    this.#options.onIdle();
  }

  #apply(): AppliedEntry[] {
    const batch: AppliedEntry[] = [];
    this.#inbox.takeAll((body) => {
      const entry = toEntry(body, this.#options.runState.seq + 1, this.#options.clock.now());
      const applyResult = this.#options.runState.apply(entry);
      if (applyResult.changed) batch.push({ entry, applyResult });
      return applyResult.changed;
    });
    return batch;
  }
}

/**
 * Returns the entry with this body.
 *
 * Stores in memory keep entries as they are, so their object shape matters: properties added to a copy take a separate
 * backing object. The most frequent entry, the completion of a block, is therefore built as one literal.
 */
function toEntry(body: EntryBody, seq: number, atMs: number): Entry {
  if (body.type === 'completed' && body.input && !hasRareFields(body)) {
    const { type, block, scope, try: attempt, startedMs, input, output } = body;
    return { seq, atMs, type, block, scope, try: attempt, startedMs, input, output };
  }
  return { ...body, seq, atMs };
}

function hasRareFields({ port, set, resumes }: Extract<EntryBody, { type: 'completed' }>): boolean {
  return port !== undefined || set !== undefined || resumes !== undefined;
}

/** An element of a linked list, which usually has one element: an array would reserve space for seventeen. */
interface PostedEntry {
  body: EntryBody;
  listener: PostListener | undefined;
  next: PostedEntry | undefined;
}

/** Entries posted to a run and not yet written, with the listeners that wait for the result. */
class Inbox {
  #first: PostedEntry | undefined;
  #last: PostedEntry | undefined;
  /** Listeners of the batch that is being written. */
  readonly #batchListeners: PostListener[] = [];
  #isClosed = false;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  post(body: EntryBody, listener: PostListener | undefined): void {
    if (this.#isClosed) {
      listener?.('stopped');
      return;
    }
    const postedEntry: PostedEntry = { body, listener, next: undefined };
    if (this.#last) this.#last.next = postedEntry;
    else this.#first = postedEntry;
    this.#last = postedEntry;
  }

  /** Passes every entry to `accept`, which returns true for entries that will be written. */
  takeAll(accept: (body: EntryBody) => boolean): void {
    for (let postedEntry = this.#removeAll(); postedEntry; postedEntry = postedEntry.next) {
      const { body, listener } = postedEntry;
      const isAccepted = accept(body);
      if (listener && isAccepted) this.#batchListeners.push(listener);
      else if (listener) listener('ignored');
    }
  }

  onBatchWritten(): void {
    if (this.#batchListeners.length > 0)
      for (const listener of this.#batchListeners.splice(0)) listener('written');
  }

  onBatchFailed(): void {
    for (const listener of this.#batchListeners.splice(0)) listener('stopped');
  }

  close(): void {
    this.#isClosed = true;
    for (let postedEntry = this.#removeAll(); postedEntry; postedEntry = postedEntry.next)
      postedEntry.listener?.('stopped');
  }

  #removeAll(): PostedEntry | undefined {
    const first = this.#first;
    this.#first = this.#last = undefined;
    return first;
  }
}
