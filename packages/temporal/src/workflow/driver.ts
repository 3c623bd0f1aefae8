import { idleState } from '@heddle/core/machine';
import type { Command, IdleState } from '@heddle/core/machine';
import { workflowInfo } from '@temporalio/workflow';
import type { CarriedState, Profile, RunInput } from '../messages.ts';
import type { CommandExecutor } from './command-executor.ts';
import type { Inbox } from './inbox.ts';
import { isForActivity } from './run-history.ts';
import type { RunHistory } from './run-history.ts';

/**
 * Maximum number of characters of unwritten entries in the inputs of all activities that start together. Above it, the
 * entries are written first.
 */
const MAX_CARRIED_CHARACTERS = 65_536;

/** Bytes of history after which a run continues as new. The server suggests it at 4 MB. */
const MAX_HISTORY_BYTES = 2_000_000;
/** Multiple of the budget that a run may spend while long work keeps it from continuing as new. */
const BUDGET_OVERRUN_FACTOR = 4;

export interface DriverDependencies {
  input: RunInput;
  history: RunHistory;
  inbox: Inbox;
  executor: CommandExecutor;
  /** Writes the run up to its current position. */
  writeRun: () => Promise<void>;
  /** Called when the run pauses, ends, or continues after a pause. */
  onStateChange: (state: IdleState) => void;
  /** True if no message handler is running. */
  areHandlersIdle: () => boolean;
}

/**
 * The event loop of a run: feeds events to the state machine of the run, and executes the commands that follow.
 *
 * Returns the state with which the run continues as new when its history is too long; undefined when the run has ended.
 */
export async function drive(dependencies: DriverDependencies): Promise<CarriedState | undefined> {
  const { history, inbox, executor } = dependencies;
  let commands = beginRun(dependencies);
  /** Commands for activities that start only after the run has continued as new. */
  const postponedCommands: Command[] = [];
  let reportedState: IdleState = 'running';
  for (;;) {
    if (inbox.fault !== undefined) throw inbox.fault;
    commands = commands.concat(processInbox(dependencies)).filter((command) => history.mustExecute(command));
    const state = idleState(history.state);
    // Readers of a paused or ended run must find its pauses or its end in the stores.
    if (state !== 'running') await dependencies.writeRun();
    if (state !== reportedState) dependencies.onStateChange((reportedState = state));
    if (history.end) return undefined;
    const budgetLevel = historyBudgetLevel(dependencies.input.profile, executor.temporalCommandCount);
    if (budgetLevel !== 'available' && executor.isIdle && dependencies.areHandlersIdle()) {
      await dependencies.writeRun();
      // The next history does not get the messages that have arrived in the meantime.
      if (hasMessages(dependencies)) continue;
      return history.carriedState([...postponedCommands, ...commands]);
    }
    const isAtHardLimit = budgetLevel === 'hard-limit';
    if (isAtHardLimit) postponedCommands.push(...commands.filter(isForActivity));
    await execute(
      dependencies,
      isAtHardLimit ? commands.filter((command) => !isForActivity(command)) : commands,
    );
    commands = [];
    await inbox.whenFilled();
  }
}

/** True if a message for the run is in the inbox, or its handler is running. */
function hasMessages({ inbox, areHandlersIdle }: DriverDependencies): boolean {
  return !inbox.isEmpty || !areHandlersIdle();
}

/** Executes commands. Unwritten entries are sent with the activities that this call starts, or are written here. */
async function execute(
  { history, executor, writeRun }: DriverDependencies,
  commands: readonly Command[],
): Promise<void> {
  // The input of each activity contains every unwritten entry.
  if (history.unwrittenLength * commands.length > MAX_CARRIED_CHARACTERS) await writeRun();
  const { activityCount } = executor;
  executor.execute(commands);
  if (history.hasUnwrittenBatches && executor.activityCount === activityCount) await writeRun();
}

function beginRun({ input, history }: DriverDependencies): Command[] {
  const { begin } = input;
  return 'started' in begin ? history.begin(begin.started) : history.carriedCommands();
}

/** Applies all inputs in the inbox. Returns the commands that follow. */
function processInbox({ history, inbox, executor }: DriverDependencies): Command[] {
  const commands: Command[] = [];
  for (const { batch, commandsToRetry = [], isSlow, onRecorded } of inbox.take()) {
    const result = batch ? history.applyBatch(batch) : { commands: [], seq: 0 };
    onRecorded?.(result.seq);
    const pendingRetries = commandsToRetry.filter((command) => history.isPending(command));
    const nextCommands = result.commands.concat(pendingRetries);
    if (isSlow) executor.markSlow(nextCommands);
    for (const command of nextCommands) commands.push(command);
  }
  return commands;
}

/**
 * Returns how much of the history's budget is used. `soft-limit`: the run continues as new as soon as no work is
 * pending. `hard-limit`: the run starts no more activities until then. Commands are counted here, because the SDK's
 * figures do not change within a workflow task.
 */
function historyBudgetLevel(
  { budget }: Profile,
  commandCount: number,
): 'available' | 'soft-limit' | 'hard-limit' {
  if (commandCount >= budget * BUDGET_OVERRUN_FACTOR) return 'hard-limit';
  const { historySize, continueAsNewSuggested } = workflowInfo();
  const isAtSoftLimit = commandCount >= budget || historySize >= MAX_HISTORY_BYTES || continueAsNewSuggested;
  return isAtSoftLimit ? 'soft-limit' : 'available';
}
