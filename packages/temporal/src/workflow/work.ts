import { workAt } from '@heddle/core/machine';
import type { Address, Command } from '@heddle/core/machine';
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { decode, tokenHashOf } from '../coded.ts';
import { SEGMENT_ACTIVITY } from '../messages.ts';
import type { Owed } from '@heddle/engine/runtime';
import type { Asked, RunInput, SegmentInput, SegmentResult } from '../messages.ts';
import { locally, remotely, segments } from './activities.ts';
import { Children } from './children.ts';
import type { Course } from './course.ts';
import type { Footing } from './footing.ts';
import type { Inbox, Mail } from './inbox.ts';
import { fired } from './made.ts';
import { nodeAt } from './places.ts';
import { Timers } from './timers.ts';
import type { Until } from './timers.ts';

type TimerCommand = Extract<Command, { type: 'timer' }>;

/** After this time a segment begins nothing new, so that others learn of what it has done. */
const SOFT_MS = { local: 500, remote: 2000 };
/** Workflow tasks must not take long: what a local segment has not finished by then goes to an activity of its own. */
const LOCAL_HARD_MS = 1500;

interface WorkParts {
  input: RunInput;
  course: Course;
  inbox: Inbox;
  footing: Footing;
  until: Until;
}

/** Carries out the commands of one run: activities, timers, child runs. What comes of them goes to the inbox. */
export class Work {
  private readonly parts: WorkParts;
  /** Commands given to the server so far. */
  spent = 0;
  /** Activities begun so far: each takes along what the store does not have yet. */
  begun = 0;
  private readonly timers: Timers;
  private readonly children: Children;
  /** Activities under way, with the addresses of the commands that they were given. */
  private readonly running = new Map<CancellationScope, ReadonlySet<string>>();
  /** Commands that wait for an activity to end. */
  private waiting: Asked[][] = [];
  /** Addresses of commands that take too long for a workflow task. */
  private readonly long = new Set<string>();

  constructor(parts: WorkParts) {
    this.parts = parts;
    const broken = (error: unknown): void => parts.inbox.break(error);
    this.timers = new Timers(parts.until, broken);
    this.children = new Children({ ...parts, timers: this.timers, broken });
  }

  /** Nothing is under way that a new workflow run could not take up from the state. */
  get idle(): boolean {
    return this.running.size === 0 && this.waiting.length === 0 && this.children.size === 0;
  }

  /** No child run is open. */
  get childless(): boolean {
    return this.children.size === 0;
  }

  perform(commands: readonly Command[]): void {
    const fused: Asked[] = [];
    for (const command of commands) {
      if (command.type === 'abort') this.abort(command.at);
      else if (command.type === 'timer') this.setTimer(command);
      else if (command.type === 'run' || command.type === 'expand') {
        if (this.isFused(command)) fused.push(command);
        else this.launch([command]);
      }
    }
    if (fused.length > 0) this.launch(fused);
  }

  /** What of `commands` is to be run takes too long for a workflow task. */
  takesLong(commands: readonly Command[]): void {
    for (const command of commands)
      if (command.type === 'run' || command.type === 'expand') this.long.add(command.at.join('.'));
  }

  /** Stops everything: the run has ended. */
  stop(): void {
    this.timers.clear();
    this.waiting = [];
    for (const scope of this.running.keys()) scope.cancel();
    this.children.cancelAll();
  }

  private isFused(command: Asked): boolean {
    if (this.parts.input.profile.checkpoint === 'block') return false;
    return command.type === 'expand' || nodeAt(this.parts.course.skeleton, command.at).class !== 'effect';
  }

  private launch(asked: Asked[]): void {
    if (this.running.size >= this.parts.input.profile.window) {
      this.waiting.push(asked);
      return;
    }
    this.spent++;
    this.begun++;
    const scope = new CancellationScope({ cancellable: true });
    this.running.set(scope, new Set(asked.map(({ at }) => at.join('.'))));
    scope
      .run(() => this.work(asked))
      .then(
        (mail) => this.ended(scope, mail),
        (error: unknown) => {
          if (!isCancellation(error)) this.parts.inbox.break(error);
          this.ended(scope, { again: asked });
        },
      );
  }

  /** Whoever is woken by the mail finds that the activity is under way no more. */
  private ended(scope: CancellationScope, mail: Mail): void {
    this.running.delete(scope);
    this.parts.inbox.post(mail);
    const next = this.waiting.shift();
    if (next) this.launch(next);
  }

  private async work(asked: readonly Asked[]): Promise<Mail> {
    const { input, course, footing } = this.parts;
    const { profile, runId } = input;
    const position = course.position();
    const [first] = asked as [Asked];
    const beyond = this.isFused(first);
    const long = asked.filter(({ at }) => this.long.delete(at.join('.')));
    const local = beyond && profile.local && long.length === 0 && footing.isFirm;
    const owed = asked.map((command) => this.owedOf(command));
    const request: SegmentInput = { runId, position, owed, beyond, softMs: SOFT_MS.remote };
    const there = (): Promise<SegmentResult> => this.remotely(first, request);
    const here = {
      ...request,
      softMs: SOFT_MS.local,
      hardMs: LOCAL_HARD_MS,
      ...(this.isAlone && { alone: true as const }),
    };
    const result = await (local ? locally(here, there) : there());
    course.written(position);
    return this.mailOf(result, asked);
  }

  /** The activity that is being launched is the only thing under way. */
  private get isAlone(): boolean {
    return this.running.size === 1 && this.waiting.length === 0 && this.children.size === 0;
  }

  private remotely(first: Asked, request: SegmentInput): Promise<SegmentResult> {
    const { profile, effects } = this.parts.input;
    if (request.beyond) return segments(profile)(request);
    const { id } = nodeAt(this.parts.course.skeleton, first.at);
    const { type, name } = effects[id] ?? { type: SEGMENT_ACTIVITY, name: id };
    return remotely(type, profile.queues.effects, name)(request);
  }

  private owedOf(command: Asked): Owed {
    if (command.type === 'expand') return command;
    const { skeleton, state } = this.parts.course;
    const work = workAt(skeleton, state, command.at);
    return work && 'dueMs' in work && work.dueMs !== undefined ? { ...command, dueMs: work.dueMs } : command;
  }

  private mailOf(result: SegmentResult, asked: readonly Asked[]): Mail {
    const tokens: { [index: number]: string } = {};
    result.events.forEach((coded, index) => {
      const hash = tokenHashOf(coded);
      if (hash !== undefined) tokens[index] = hash;
    });
    const called = new Set(result.children.map(({ at }) => at.join('.')));
    for (const demand of result.children) {
      this.spent++;
      this.children.start(demand);
    }
    return {
      happened: {
        id: result.id,
        chunk: result.chunk,
        events: result.events.map(decode),
        tokens,
        ...(result.written && { written: result.written }),
      },
      again: asked.filter(({ at }) => !called.has(at.join('.'))),
      long: result.over,
    };
  }

  private abort(at: Address): void {
    const name = at.join('.');
    for (const timer of ['timeout', 'retry', 'wait']) this.timers.cancel(`${timer}:${name}`);
    this.children.cancel(name);
    for (const [scope, places] of this.running) if (places.has(name)) scope.cancel();
  }

  private setTimer({ at, timer, dueMs, try: attempt }: TimerCommand): void {
    // Who runs a block looks at its time; only children run where nobody does.
    if (timer === 'timeout') return;
    const { course, inbox } = this.parts;
    this.spent++;
    const name = `${timer}:${at.join('.')}`;
    this.timers.set(name, dueMs, () => {
      inbox.post({ happened: fired(course.skeleton, { at, timer, dueMs, attempt }) });
    });
  }
}
