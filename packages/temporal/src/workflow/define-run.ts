import type { IdleState } from '@heddle/core/machine';
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ChildMessage, RunInput } from '../messages.ts';
import { CHILD_SIGNAL, INPUT_FORMAT, RUN_FAILED } from '../messages.ts';
import { toStatusAttribute } from '../search-attributes.ts';
import type { RunStatusAttribute } from '../search-attributes.ts';
import { writeRunData } from './activities.ts';
import { CommandExecutor } from './command-executor.ts';
import { drive } from './driver.ts';
import { DurabilityTracker } from './durability-tracker.ts';
import { Inbox } from './inbox.ts';
import { CancelTracker, registerMessageHandlers } from './message-handlers.ts';
import { RunHistory } from './run-history.ts';
import { createCancelBatch } from './synthetic-events.ts';
import type { SleepUntil } from './timers.ts';

/** Maximum time for which an ended run waits for the child runs that it has cancelled. */
const CHILDREN_TIMEOUT_MS = 10_000;

/** Below the server's limit of 2 MB for one message, which includes more than the input. */
const MAX_INPUT_BYTES = 1_900_000;

/** Result of the workflow on the server. The output of the run is in its record. */
export interface WorkflowResult {
  status: 'completed';
}

/** Returns the workflow of a run. `sleepUntil`: the function with which the workflow waits for a point in time. */
export function defineRun(sleepUntil: SleepUntil): (input: RunInput) => Promise<WorkflowResult> {
  return async (input) => {
    if (input.format > INPUT_FORMAT) return rejectNewerFormat(input);
    const history = new RunHistory(input);
    const inbox = new Inbox();
    const durability = new DurabilityTracker();
    const cancelTracker = new CancelTracker(() => inbox.post({ batch: createCancelBatch(Date.now()) }));
    const executor = new CommandExecutor({ input, history, inbox, durability, sleepUntil });
    const onChildMessage = (message: ChildMessage): void => executor.reportChild(message);
    registerMessageHandlers({ history, inbox, durability, cancelTracker, onChildMessage });
    // The workflow cancels its blocks itself, and records the cancellation.
    return CancellationScope.nonCancellable(async () => {
      await run(input, { history, inbox, durability, executor });
      if (history.end?.status === 'cancelled') await cancelTracker.whenRequested();
      return toWorkflowResult(input, history);
    });
  };
}

/** Ends a run that a newer Heddle started, because this version may misread its input. The record gets the reason. */
async function rejectNewerFormat({ runId, format, begin }: RunInput): Promise<never> {
  const fault = `A newer Heddle started this run (format ${format}; this worker supports ${INPUT_FORMAT}). Update the workers and run it again.`;
  const { seq = 1, tip = 'start' } = 'carried' in begin ? begin.carried : {};
  await writeRunData({ runId, position: { seq, tip, unwritten: [] }, fault });
  throw ApplicationFailure.nonRetryable(fault, 'DATA_FORMAT_UNSUPPORTED');
}

interface RunContext {
  history: RunHistory;
  inbox: Inbox;
  durability: DurabilityTracker;
  executor: CommandExecutor;
}

async function run(input: RunInput, { history, inbox, durability, executor }: RunContext): Promise<void> {
  const writeRun = async (fault?: string): Promise<void> => {
    if (history.isFullyWritten && fault === undefined) return;
    const position = history.position();
    await writeRunData(
      { runId: input.runId, position, ...(fault !== undefined && { fault }) },
      durability.isDurable,
    );
    history.markWritten(position);
  };
  const onStateChange = (state: IdleState): void => {
    upsertStatus(input, history, state);
    notifyParent(input, history, state);
  };
  const dependencies = { input, history, inbox, executor, writeRun, onStateChange };
  try {
    const carried = await drive({ ...dependencies, areHandlersIdle: allHandlersFinished });
    if (carried)
      await continueAsNew<(next: RunInput) => Promise<WorkflowResult>>(
        checkSize({ ...input, begin: { carried } }),
      );
    executor.stop();
    // A caller that has waited for the end of a cancelled run may assume that its child runs have ended too.
    if (executor.hasChildren) await condition(() => !executor.hasChildren, CHILDREN_TIMEOUT_MS);
  } catch (error) {
    if (isEngineFault(error)) await writeRun(error.message);
    throw error;
  } finally {
    executor.stop();
  }
}

/** Returns the input of the next history. Fails the run if the server would reject it. */
function checkSize(nextInput: RunInput): RunInput {
  const bytes = new TextEncoder().encode(JSON.stringify(nextInput)).length;
  if (bytes <= MAX_INPUT_BYTES) return nextInput;
  throw ApplicationFailure.nonRetryable(
    `The run is too large for Temporal: its state for a new history takes ${bytes} bytes, and the limit is ${MAX_INPUT_BYTES}. Split the workflow into workflows that call each other.`,
    'RUN_TOO_LARGE',
  );
}

function isEngineFault(error: unknown): error is Error {
  return error instanceof Error && error.name !== 'ContinueAsNew';
}

/** Returns the workflow's result. Throws the failure or cancellation that the server shows for the run. */
function toWorkflowResult({ profile }: RunInput, { end, skeleton }: RunHistory): WorkflowResult {
  if (end?.status === 'cancelled') throw new CancelledFailure('The run was cancelled.');
  if (end?.status !== 'failed') return { status: 'completed' };
  const nodeIndex = end.at?.[0];
  const location =
    nodeIndex === undefined || profile.sealed ? '' : ` at block ${skeleton.nodes[nodeIndex]?.id}`;
  // Block messages may contain user data. They are in the run's record, which has its own access control.
  throw ApplicationFailure.nonRetryable(
    end.reason === 'deadline'
      ? 'The run took longer than its time limit.'
      : `The run failed${location}: see its record.`,
    RUN_FAILED,
  );
}

/** Sets the run's status as a search attribute, if the deployment uses them. Each call adds an event to the history. */
function upsertStatus({ profile }: RunInput, { end }: RunHistory, state: IdleState): void {
  if (profile.attributes !== true) return;
  upsertSearchAttributes([toStatusAttribute(statusOf(end?.status, state))]);
}

function statusOf(endStatus: RunStatusAttribute | undefined, state: IdleState): RunStatusAttribute {
  if (state === 'ended') return endStatus ?? 'failed';
  return state === 'running' ? 'running' : 'paused';
}

function notifyParent({ runId, parent }: RunInput, { atMs }: RunHistory, state: IdleState): void {
  if (!parent || state === 'ended') return;
  const message: ChildMessage = { at: parent.at, runId, on: state === 'running' ? null : state, atMs };
  // A parent that has ended needs no message: its end cancels this run.
  getExternalWorkflowHandle(parent.workflowId)
    .signal(CHILD_SIGNAL, message)
    .catch(() => undefined);
}
