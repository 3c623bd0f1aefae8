import { advance, initialState, isPending } from '@heddle/core/machine';
import type { Address, Command, Event, Region, StartedEvent, State } from '@heddle/core/machine';
import type { OrderItem, Position } from '@heddle/engine/runtime';
import type { Carried, Happened, RunInput } from '../messages.ts';

/** The control flow of a run, and the order in which its journal is to be written. */
export class Course {
  readonly skeleton: Region;
  readonly state: State;
  /** Hashes of the tokens of open pause points, by address. */
  tokens: { [address: string]: string };
  /** How the machine has ended the run. */
  end: Extract<Command, { type: 'end' }> | undefined;
  /** All of the run is in the store, with its end. */
  closed = false;
  /** Time of the latest event. */
  atMs: number;
  private seq: number;
  private tip: string;
  /** With the characters that each takes in whatever is told of it. */
  private unwritten: { item: OrderItem; length: number }[] = [];
  private waiting: { seq: number; go: () => void }[] = [];

  constructor({ skeleton, begin }: Pick<RunInput, 'skeleton' | 'begin'>) {
    const carried = 'carried' in begin ? begin.carried : undefined;
    this.skeleton = skeleton;
    this.state = carried?.state ?? initialState();
    this.tokens = carried?.tokens ?? {};
    // The first entry is written when the run is claimed, before there is a workflow.
    this.seq = carried?.seq ?? 1;
    this.tip = carried?.tip ?? 'start';
    this.atMs = 'started' in begin ? begin.started.atMs : begin.carried.atMs;
  }

  /** The first event, whose entry is in the store already. Returns the commands that follow. */
  begin(started: StartedEvent): Command[] {
    const { commands } = advance(this.skeleton, this.state, started);
    this.keepEnd(commands);
    return commands;
  }

  /** Takes in what has happened. `commands`: all that was asked for on the way, which a later event may have answered; `seq`: entries so far, or 0 when none of it counted. */
  feed({ id, chunk, events, tokens, written }: Happened): { commands: Command[]; seq: number } {
    const commands: Command[] = [];
    const skip: number[] = [];
    events.forEach((event, index) => {
      const outcome = advance(this.skeleton, this.state, event);
      if (!outcome.changed) return void skip.push(index);
      this.keepToken(event, tokens?.[index]);
      this.atMs = Math.max(this.atMs, event.atMs);
      for (const command of outcome.commands) commands.push(command);
    });
    const taken = events.length - skip.length;
    if (taken > 0) {
      const item = { seq: this.seq + 1, id, chunk, ...(skip.length > 0 && { skip }) };
      this.unwritten.push({ item, length: JSON.stringify(item).length });
      this.seq += taken;
      this.tip = id;
      for (const { go } of this.waiting.filter(({ seq }) => this.has(seq))) go();
      this.waiting = this.waiting.filter(({ seq }) => !this.has(seq));
    }
    this.keepEnd(commands);
    if (written && this.end) this.closed = true;
    return { commands, seq: taken > 0 ? this.seq : 0 };
  }

  private keepEnd(commands: readonly Command[]): void {
    this.end ??= commands.find((command) => command.type === 'end');
  }

  private keepToken(event: Event, token: string | undefined): void {
    if (event.type === 'paused' && token !== undefined) this.tokens[event.at.join('.')] = token;
    else if (event.type === 'resumed') delete this.tokens[event.at.join('.')];
  }

  /** True when the journal has `seq` entries, as the run itself knows it. */
  has(seq: number): boolean {
    return seq <= this.seq;
  }

  /** Resolves when the journal has `seq` entries. */
  reached(seq: number): Promise<void> {
    return new Promise((go) => this.waiting.push({ seq, go }));
  }

  /** True when `command` is still to be carried out: no later event has answered it or made it void. */
  stands(command: Command): boolean {
    return command.type === 'abort' || command.type === 'end' || this.owes(command);
  }

  owes(command: Command): boolean {
    return isPending(this.skeleton, this.state, command);
  }

  /** True when the pause point at `at` is open and has the token with this hash. */
  isOpen(at: Address, tokenHash: string): boolean {
    return this.tokens[at.join('.')] === tokenHash && this.owes({ type: 'open', at });
  }

  position(): Position {
    return { seq: this.seq, tip: this.tip, unwritten: this.unwritten.map(({ item }) => item) };
  }

  /** Characters of what is not written yet. */
  get weight(): number {
    return this.unwritten.reduce((sum, { length }) => sum + length, 0);
  }

  get behind(): boolean {
    return this.unwritten.length > 0;
  }

  /** The store has everything up to `position`. */
  written({ seq }: Position): void {
    this.unwritten = this.unwritten.filter(({ item }) => item.seq > seq);
  }

  carried(): Carried {
    return { state: this.state, seq: this.seq, atMs: this.atMs, tip: this.tip, tokens: this.tokens };
  }
}
