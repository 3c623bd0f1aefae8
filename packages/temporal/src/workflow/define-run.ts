import type { IdleState } from '@heddle/core/machine';
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
} from '@temporalio/workflow';
import type { ChildMessage, RunInput } from '../messages.ts';
import { CHILD_SIGNAL, INPUT_FORMAT } from '../messages.ts';
import { settle } from './activities.ts';
import { Cancels } from './cancels.ts';
import { Course } from './course.ts';
import { drive } from './driver.ts';
import { Footing } from './footing.ts';
import { Inbox } from './inbox.ts';
import { cancelledOutside } from './made.ts';
import { handleMessages } from './post-office.ts';
import { showStatus } from './shown.ts';
import type { Until } from './timers.ts';
import { Work } from './work.ts';

/** A run that has ended waits so long for the children that it has cancelled. */
const CHILDREN_MS = 10_000;

/** The server takes 2 MB in one piece, and counts what stands around it. */
const MAX_INPUT_BYTES = 1_900_000;

/** How a run has ended, for those who look at the server: what it came to is in the run's record. */
export interface RunEnd {
  status: 'completed';
}

/** The workflow of a run. `until`: how it waits for a time. */
export function defineRun(until: Until): (input: RunInput) => Promise<RunEnd> {
  return async (input) => {
    if (input.format > INPUT_FORMAT) return refuse(input);
    const course = new Course(input);
    const inbox = new Inbox();
    const footing = new Footing();
    const cancels = new Cancels(() => inbox.post({ happened: cancelledOutside(Date.now()) }));
    handleMessages({ course, inbox, footing, cancels });
    // The engine stops its blocks itself, and writes down that it has.
    return CancellationScope.nonCancellable(async () => {
      await run(input, { course, inbox, footing, until });
      if (course.end?.status === 'cancelled') await cancels.arrived();
      return endOf(input, course);
    });
  };
}

/** A run that a newer Heddle has started ends here, and its record says why: nothing of it is understood for certain. */
async function refuse({ runId, format, begin }: RunInput): Promise<never> {
  const fault = `The run was started by a newer Heddle (format ${format}; this worker knows ${INPUT_FORMAT}): update the workers, and run it again.`;
  const { seq = 1, tip = 'start' } = 'carried' in begin ? begin.carried : {};
  await settle({ runId, position: { seq, tip, unwritten: [] }, fault });
  throw ApplicationFailure.nonRetryable(fault, 'DATA_FORMAT_UNSUPPORTED');
}

async function run(
  input: RunInput,
  { course, inbox, footing, until }: { course: Course; inbox: Inbox; footing: Footing; until: Until },
): Promise<void> {
  const work = new Work({ input, course, inbox, footing, until });
  const write = async (fault?: string): Promise<void> => {
    if (course.closed && fault === undefined) return;
    const position = course.position();
    await settle({ runId: input.runId, position, ...(fault !== undefined && { fault }) }, footing.isFirm);
    course.written(position);
  };
  const parts = {
    input,
    course,
    inbox,
    work,
    settle: write,
    rested: (rest: IdleState) => {
      showStatus(input, course, rest);
      tellParent(input, course, rest);
    },
  };
  try {
    const carried = await drive({ ...parts, quiet: allHandlersFinished });
    if (carried)
      await continueAsNew<(next: RunInput) => Promise<RunEnd>>(fitting({ ...input, begin: { carried } }));
    work.stop();
    // Who waits for the end of a run that was cancelled finds its children ended too.
    if (!work.childless) await condition(() => work.childless, CHILDREN_MS);
  } catch (error) {
    if (isEngineFault(error)) await write(error.message);
    throw error;
  } finally {
    work.stop();
  }
}

/** What a run goes on with in a new history; the server would not take more. */
function fitting(next: RunInput): RunInput {
  const bytes = new TextEncoder().encode(JSON.stringify(next)).length;
  if (bytes <= MAX_INPUT_BYTES) return next;
  throw ApplicationFailure.nonRetryable(
    `The run is too large for Temporal: what it goes on with in a new history takes ${bytes} bytes, and the server takes ${MAX_INPUT_BYTES}. Split the workflow into workflows that call each other.`,
    'RUN_TOO_LARGE',
  );
}

function isEngineFault(error: unknown): error is Error {
  return error instanceof Error && error.name !== 'ContinueAsNew';
}

function endOf({ profile }: RunInput, { end, skeleton }: Course): RunEnd {
  if (end?.status === 'cancelled') throw new CancelledFailure('The run was cancelled.');
  if (end?.status !== 'failed') return { status: 'completed' };
  const at = end.at?.[0];
  const where = at === undefined || profile.sealed ? '' : ` at block ${skeleton.nodes[at]?.id}`;
  // Messages of blocks may hold what users know: they stand in the run's record, which has its own access rules.
  throw ApplicationFailure.nonRetryable(
    end.reason === 'deadline'
      ? 'The run took longer than its time limit.'
      : `The run failed${where}: see its record.`,
    'RUN_FAILED',
  );
}

function tellParent({ runId, parent }: RunInput, { atMs }: Course, rest: IdleState): void {
  if (!parent || rest === 'ended') return;
  const message: ChildMessage = { at: parent.at, runId, on: rest === 'running' ? null : rest, atMs };
  // A parent that is gone needs no telling: its end reaches this run as a cancel.
  getExternalWorkflowHandle(parent.workflowId)
    .signal(CHILD_SIGNAL, message)
    .catch(() => undefined);
}
