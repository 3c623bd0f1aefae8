import { workAt } from '@heddle/core/machine';
import type { Address, Command } from '@heddle/core/machine';
import type { PendingCommand } from '@heddle/engine/runtime';
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { decodeEvent, tokenHashOf } from '../event-codec.ts';
import { SEGMENT_ACTIVITY } from '../messages.ts';
import type {
  ActivityCommand,
  ChildMessage,
  RunInput,
  SegmentActivityInput,
  SegmentActivityResult,
} from '../messages.ts';
import { remoteActivity, runLocally, segmentActivity } from './activities.ts';
import { ChildRuns } from './child-runs.ts';
import type { DurabilityTracker } from './durability-tracker.ts';
import type { Inbox, InboxItem } from './inbox.ts';
import { nodeAt } from './run-history.ts';
import type { RunHistory } from './run-history.ts';
import { createTimerBatch } from './synthetic-events.ts';
import { Timers } from './timers.ts';
import type { SleepUntil } from './timers.ts';

type TimerCommand = Extract<Command, { type: 'timer' }>;

/** Time after which a segment starts no more blocks, so that its results become visible. */
const SOFT_LIMIT_MS = { local: 500, remote: 2000 };
/** Workflow tasks must be short. After this time, unfinished blocks of a local segment move to a regular activity. */
const LOCAL_HARD_LIMIT_MS = 1500;

interface ExecutorContext {
  input: RunInput;
  history: RunHistory;
  inbox: Inbox;
  durability: DurabilityTracker;
  sleepUntil: SleepUntil;
}

/** Executes the commands of one run with activities, timers and child runs. Posts their results to the inbox. */
export class CommandExecutor {
  readonly #context: ExecutorContext;
  /** Temporal commands so far: started activities, timers and child workflows. */
  temporalCommandCount = 0;
  /** Activities started so far. The input of each contains the entries that the store does not have yet. */
  activityCount = 0;
  readonly #timers: Timers;
  readonly #children: ChildRuns;
  /** Running activities, with the addresses of their commands. */
  readonly #runningActivities = new Map<CancellationScope, ReadonlySet<string>>();
  /** Commands that wait until fewer activities run than the window allows. */
  #waitingCommands: ActivityCommand[][] = [];
  /** Addresses of commands that take too long for a workflow task. */
  readonly #slowAddresses = new Set<string>();

  constructor(context: ExecutorContext) {
    this.#context = context;
    const onError = (error: unknown): void => context.inbox.fail(error);
    this.#timers = new Timers(context.sleepUntil, onError);
    this.#children = new ChildRuns({ ...context, timers: this.#timers, onError });
  }

  /** True if no activity or child run is pending. A run that continues as new restores other work from its state. */
  get isIdle(): boolean {
    return (
      this.#runningActivities.size === 0 && this.#waitingCommands.length === 0 && this.#children.size === 0
    );
  }

  get hasChildren(): boolean {
    return this.#children.size > 0;
  }

  /** Handles a child run's message about what it waits for. */
  reportChild(message: ChildMessage): void {
    this.#children.report(message);
  }

  execute(commands: readonly Command[]): void {
    const sharedCommands: ActivityCommand[] = [];
    for (const command of commands) {
      if (command.type === 'abort') this.#abort(command.at);
      else if (command.type === 'timer') this.#setTimer(command);
      else if (command.type === 'run' || command.type === 'expand') {
        if (this.#canShareActivity(command)) sharedCommands.push(command);
        else this.#startActivity([command]);
      }
    }
    if (sharedCommands.length > 0) this.#startActivity(sharedCommands);
  }

  /** Marks `commands` as too long for a workflow task. */
  markSlow(commands: readonly Command[]): void {
    for (const command of commands)
      if (command.type === 'run' || command.type === 'expand') this.#slowAddresses.add(command.at.join('.'));
  }

  /** Cancels everything, because the run has ended. */
  stop(): void {
    this.#timers.clear();
    this.#waitingCommands = [];
    for (const scope of this.#runningActivities.keys()) scope.cancel();
    this.#children.cancelAll();
  }

  /** True if one activity may execute this command together with others, and then the blocks that follow. */
  #canShareActivity(command: ActivityCommand): boolean {
    if (this.#context.input.profile.checkpoint === 'block') return false;
    return command.type === 'expand' || nodeAt(this.#context.history.skeleton, command.at).class !== 'effect';
  }

  #startActivity(commands: ActivityCommand[]): void {
    if (this.#runningActivities.size >= this.#context.input.profile.window) {
      this.#waitingCommands.push(commands);
      return;
    }
    this.temporalCommandCount++;
    this.activityCount++;
    const scope = new CancellationScope({ cancellable: true });
    this.#runningActivities.set(scope, new Set(commands.map(({ at }) => at.join('.'))));
    scope
      .run(() => this.#runActivity(commands))
      .then(
        (item) => this.#onEnd(scope, item),
        (error: unknown) => {
          if (!isCancellation(error)) this.#context.inbox.fail(error);
          this.#onEnd(scope, { commandsToRetry: commands });
        },
      );
  }

  /** Removes the activity before its result is posted, so that the driver no longer counts the activity. */
  #onEnd(scope: CancellationScope, item: InboxItem): void {
    this.#runningActivities.delete(scope);
    this.#context.inbox.post(item);
    const nextCommands = this.#waitingCommands.shift();
    if (nextCommands) this.#startActivity(nextCommands);
  }

  async #runActivity(commands: readonly ActivityCommand[]): Promise<InboxItem> {
    const { input, history, durability } = this.#context;
    const { profile, runId } = input;
    const position = history.position();
    const [firstCommand] = commands as [ActivityCommand];
    const isSegment = this.#canShareActivity(firstCommand);
    const slowCommands = commands.filter(({ at }) => this.#slowAddresses.delete(at.join('.')));
    const isLocal = isSegment && profile.local && slowCommands.length === 0 && durability.isDurable;
    const remoteInput: SegmentActivityInput = {
      runId,
      position,
      owed: commands.map((command) => this.#withDeadline(command)),
      beyond: isSegment,
      softMs: SOFT_LIMIT_MS.remote,
    };
    const runRemotely = (): Promise<SegmentActivityResult> => this.#runRemotely(firstCommand, remoteInput);
    const localInput = {
      ...remoteInput,
      softMs: SOFT_LIMIT_MS.local,
      hardMs: LOCAL_HARD_LIMIT_MS,
      ...(this.#isAlone && { alone: true as const }),
    };
    const result = await (isLocal ? runLocally(localInput, runRemotely) : runRemotely());
    history.markWritten(position);
    return this.#toInboxItem(result, commands);
  }

  /** True if the activity that is starting is the only pending work. */
  get #isAlone(): boolean {
    return (
      this.#runningActivities.size === 1 && this.#waitingCommands.length === 0 && this.#children.size === 0
    );
  }

  #runRemotely(firstCommand: ActivityCommand, input: SegmentActivityInput): Promise<SegmentActivityResult> {
    const { profile, effects } = this.#context.input;
    if (input.beyond) return segmentActivity(profile)(input);
    const { id } = nodeAt(this.#context.history.skeleton, firstCommand.at);
    const { type, name } = effects[id] ?? { type: SEGMENT_ACTIVITY, name: id };
    return remoteActivity(type, profile.queues.effects, name)(input);
  }

  /** Adds the block's deadline to a command, if it has one. */
  #withDeadline(command: ActivityCommand): PendingCommand {
    if (command.type === 'expand') return command;
    const { skeleton, state } = this.#context.history;
    const work = workAt(skeleton, state, command.at);
    return work && 'dueMs' in work && work.dueMs !== undefined ? { ...command, dueMs: work.dueMs } : command;
  }

  /** Starts the child runs of a result. Returns the other parts of the result as an input of the driver. */
  #toInboxItem(result: SegmentActivityResult, commands: readonly ActivityCommand[]): InboxItem {
    const tokens: { [index: number]: string } = {};
    result.events.forEach((encodedEvent, index) => {
      const tokenHash = tokenHashOf(encodedEvent);
      if (tokenHash !== undefined) tokens[index] = tokenHash;
    });
    const callerAddresses = new Set(result.children.map(({ at }) => at.join('.')));
    for (const child of result.children) {
      this.temporalCommandCount++;
      this.#children.start(child);
    }
    return {
      batch: {
        id: result.id,
        chunk: result.chunk,
        events: result.events.map(decodeEvent),
        tokens,
        ...(result.written && { written: result.written }),
      },
      commandsToRetry: commands.filter(({ at }) => !callerAddresses.has(at.join('.'))),
      isSlow: result.over,
    };
  }

  #abort(at: Address): void {
    const address = at.join('.');
    for (const timer of ['timeout', 'retry', 'wait']) this.#timers.cancel(`${timer}:${address}`);
    this.#children.cancel(address);
    for (const [scope, addresses] of this.#runningActivities) if (addresses.has(address)) scope.cancel();
  }

  #setTimer({ at, timer, dueMs, try: attempt }: TimerCommand): void {
    // Activities enforce the timeout of their block. Child runs have their own timer.
    if (timer === 'timeout') return;
    const { history, inbox } = this.#context;
    this.temporalCommandCount++;
    const name = `${timer}:${at.join('.')}`;
    this.#timers.set(name, dueMs, () => {
      inbox.post({ batch: createTimerBatch(history.skeleton, { at, timer, dueMs, attempt }) });
    });
  }
}
