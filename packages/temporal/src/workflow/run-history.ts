import { advance, initialState, isPending, pendingCommands, workAt } from '@heddle/core/machine';
import type { Address, Command, Event, Node, Region, StartedEvent, State } from '@heddle/core/machine';
import type { Place } from '@heddle/core/run';
import type { JournalItem, Position } from '@heddle/engine/runtime';
import type { ActivityCommand, CarriedState, EventBatch, RunInput } from '../messages.ts';

/** A run's state and the order of its journal entries. */
export class RunHistory {
  readonly skeleton: Region;
  readonly state: State;
  /** Hashes of the tokens of open pause points, by address. */
  tokenHashes: { [address: string]: string };
  /** The command with which the machine ended the run. */
  end: Extract<Command, { type: 'end' }> | undefined;
  /** The store has the whole run, including its end. */
  isFullyWritten = false;
  /** Time of the latest event. */
  atMs: number;
  /** Number of journal entries. */
  #seq: number;
  #lastItemId: string;
  /** Batches that the store does not have yet, with their length as JSON. */
  #unwrittenBatches: { item: JournalItem; length: number }[] = [];
  #waiters: { seq: number; resolve: () => void }[] = [];
  readonly #carried: CarriedState | undefined;

  constructor({ skeleton, begin }: Pick<RunInput, 'skeleton' | 'begin'>) {
    const carried = 'carried' in begin ? begin.carried : undefined;
    this.skeleton = skeleton;
    this.state = carried?.state ?? initialState();
    this.tokenHashes = carried?.tokens ?? {};
    this.#carried = carried;
    // The client writes the first entry when it records the run, before the workflow starts.
    this.#seq = carried?.seq ?? 1;
    this.#lastItemId = carried?.tip ?? 'start';
    this.atMs = 'started' in begin ? begin.started.atMs : begin.carried.atMs;
  }

  /** Applies the first event, whose entry the store already has. Returns the commands that follow. */
  begin(startedEvent: StartedEvent): Command[] {
    const { commands } = advance(this.skeleton, this.state, startedEvent);
    this.#recordEnd(commands);
    return commands;
  }

  /**
   * Returns the pending commands of a run that has continued as new. Commands that were issued before it continued come
   * first, in the order of issue.
   */
  carriedCommands(): Command[] {
    const commands = pendingCommands(this.skeleton, this.state);
    const { order = [] } = this.#carried ?? {};
    const orderedIndexes = new Set(order);
    return [
      ...order.flatMap((index) => commands[index] ?? []),
      ...commands.filter((_, index) => !orderedIndexes.has(index)),
    ];
  }

  /**
   * Applies a batch of events. `commands`: every command that the events caused; a later event of the batch may already
   * have answered one. `seq`: the length of the journal, or 0 if no event of the batch changed the state.
   */
  applyBatch({ id, chunk, events, tokens, written }: EventBatch): { commands: Command[]; seq: number } {
    const commands: Command[] = [];
    const skip: number[] = [];
    events.forEach((event, index) => {
      const step = advance(this.skeleton, this.state, event);
      if (!step.changed) return void skip.push(index);
      this.#recordTokenHash(event, tokens?.[index]);
      this.atMs = Math.max(this.atMs, event.atMs);
      for (const command of step.commands) commands.push(command);
    });
    const appliedCount = events.length - skip.length;
    if (appliedCount > 0) {
      const item = { seq: this.#seq + 1, id, chunk, ...(skip.length > 0 && { skip }) };
      this.#unwrittenBatches.push({ item, length: JSON.stringify(item).length });
      this.#seq += appliedCount;
      this.#lastItemId = id;
      for (const { resolve } of this.#waiters.filter(({ seq }) => this.hasReached(seq))) resolve();
      this.#waiters = this.#waiters.filter(({ seq }) => !this.hasReached(seq));
    }
    this.#recordEnd(commands);
    if (written && this.end) this.isFullyWritten = true;
    return { commands, seq: appliedCount > 0 ? this.#seq : 0 };
  }

  #recordEnd(commands: readonly Command[]): void {
    this.end ??= commands.find((command) => command.type === 'end');
  }

  #recordTokenHash(event: Event, tokenHash: string | undefined): void {
    if (event.type === 'paused' && tokenHash !== undefined) this.tokenHashes[event.at.join('.')] = tokenHash;
    else if (event.type === 'resumed') delete this.tokenHashes[event.at.join('.')];
  }

  /** True if the journal has at least `seq` entries. */
  hasReached(seq: number): boolean {
    return seq <= this.#seq;
  }

  /** Resolves when the journal has `seq` entries. */
  whenReached(seq: number): Promise<void> {
    return new Promise((resolve) => this.#waiters.push({ seq, resolve }));
  }

  /** True if `command` must still be executed: no later event has answered or voided it. */
  mustExecute(command: Command): boolean {
    return command.type === 'abort' || command.type === 'end' || this.isPending(command);
  }

  /** True if the state waits for the result of `command`. */
  isPending(command: Command): boolean {
    return isPending(this.skeleton, this.state, command);
  }

  /** True if the pause point at `at` is open and its token has this hash. */
  isOpen(at: Address, tokenHash: string): boolean {
    return (
      this.tokenHashes[at.join('.')] === tokenHash && workAt(this.skeleton, this.state, at)?.w === 'pause'
    );
  }

  /** Returns the end of the journal, with the batches that the store does not have yet. */
  position(): Position {
    return {
      seq: this.#seq,
      tip: this.#lastItemId,
      unwritten: this.#unwrittenBatches.map(({ item }) => item),
    };
  }

  /** Length of the unwritten batches as JSON, in characters. */
  get unwrittenLength(): number {
    return this.#unwrittenBatches.reduce((sum, { length }) => sum + length, 0);
  }

  get hasUnwrittenBatches(): boolean {
    return this.#unwrittenBatches.length > 0;
  }

  /** Records that the store has all entries up to a position. */
  markWritten({ seq }: Position): void {
    this.#unwrittenBatches = this.#unwrittenBatches.filter(({ item }) => item.seq > seq);
  }

  /**
   * Returns the state that the run carries over when it continues as new. `issuedCommands`: the issued
   * commands that the run has not started, in their order.
   */
  carriedState(issuedCommands: readonly Command[]): CarriedState {
    const order = this.#orderOf(issuedCommands);
    return {
      ...(order.some((index, position) => index < (order[position - 1] ?? 0)) && { order }),
      state: this.state,
      seq: this.#seq,
      atMs: this.atMs,
      tip: this.#lastItemId,
      tokens: this.tokenHashes,
    };
  }

  /** Returns the indexes, among the pending commands, of the issued commands that activities execute. */
  #orderOf(issuedCommands: readonly Command[]): number[] {
    const indexByKey = new Map(
      pendingCommands(this.skeleton, this.state).flatMap((command, index) =>
        isForActivity(command) ? [[keyOf(command), index]] : [],
      ),
    );
    const order = issuedCommands.filter(isForActivity).map((command) => indexByKey.get(keyOf(command)));
    return [...new Set(order)].filter((index) => index !== undefined);
  }
}

/** True for commands that activities execute. Commands that are not started remain pending in the state. */
export function isForActivity(command: Command): command is ActivityCommand {
  return command.type === 'run' || command.type === 'expand';
}

/** Returns the key of a command. A node has at most one pending command of a type. */
function keyOf({ type, at }: ActivityCommand): string {
  return `${type}:${at.join('.')}`;
}

/**
 * Returns the node at an address of odd length: its indexes alternate between nodes and iterations or branches, and the
 * last one is a node's.
 */
export function nodeAt(skeleton: Region, at: Address): Node {
  let region: Region | undefined = skeleton;
  let node: Node | undefined;
  for (let depth = 0; depth < at.length; depth += 2) {
    node = region?.nodes[at[depth] as number];
    region = node?.subflow?.body;
  }
  if (!node) throw new TypeError(`the plan has no node at ${at.join('.')}`);
  return node;
}

/** Returns the block at an address, with its iteration and branch numbers, as in journal entries. */
export function placeOf(skeleton: Region, at: Address): Place {
  return { block: nodeAt(skeleton, at).id, scope: at.filter((_, position) => position % 2 === 1) };
}
