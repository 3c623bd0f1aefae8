import { isEngineError } from '@heddle/core';
import type { IdleState } from '@heddle/core/run';
import {
  childError,
  childOutcome,
  childRequest,
  childRunId,
  findChildRun,
} from '../../execution/child-runs.ts';
import type { BlockTask } from '../../execution/attempt.ts';
import type { ChildAttempt } from '../../execution/child-runs.ts';
import type { StartRequest } from '../../execution/run-start.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import type { ChildOutcome, ChildRequest } from '../../executors/services.ts';
import type { ActiveRun } from './active-run.ts';

/** Starts and opens runs in this process. */
interface RunSource {
  start(request: StartRequest): Promise<ActiveRun>;
  /** Returns the run, recovered if necessary; undefined if it has ended. */
  open(runId: string): Promise<ActiveRun | undefined>;
}

/** A call of a child run by a block. */
export interface ChildCall extends ChildAttempt {
  parent: ActiveRun;
  request: ChildRequest;
  /**
   * Stopped with an EngineError if the parent only stops in this process, with any other error if the child must be
   * cancelled.
   */
  task: BlockTask;
}

/**
 * Starts or recovers the child run and waits for its end. The idle state of the parent follows that of the child. A
 * cancelled parent cancels the child.
 */
export async function callChild(
  runs: RunSource,
  dependencies: RuntimeDependencies,
  call: ChildCall,
): Promise<ChildOutcome> {
  const { children } = call.task;
  const runId = childRunId(call.parent.header, call);
  const { otherWorkDone } = call.request;
  children.add(runId, 'running', otherWorkDone);
  void otherWorkDone?.then(() => postBlocked(call, runId));
  try {
    const child = await openChild(runs, dependencies, call);
    if (child) await waitForEnd(child, call);
    return await childOutcome(runId, await dependencies.stores.runs.record(runId), dependencies.values);
  } catch (error) {
    throw childError(error);
  } finally {
    children.remove(runId);
    // A block with several calls continues, or waits for its other children.
    if (call.call !== undefined) postBlocked(call, runId);
  }
}

/**
 * Reports to the parent whether the attempt can continue, and the reason if it cannot. The machine ignores repeated
 * reports.
 */
function postBlocked({ parent, place, task, call }: ChildCall, childRunId: string): void {
  if (task.stopReason) return;
  const { blockedOn } = task.children;
  parent.post({ type: 'blocked', ...place, childRunId, on: blockedOn });
  // The status of a block with several calls counts as reported only once the block waits for all its children.
  if (call === undefined || blockedOn !== null) parent.onChildReported(place);
}

async function openChild(
  runs: RunSource,
  { stores, definitions }: RuntimeDependencies,
  call: ChildCall,
): Promise<ActiveRun | undefined> {
  const { header } = call.parent;
  const existingRun = await findChildRun(stores.runs, header, call);
  if (existingRun) return runs.open(existingRun.runId);
  return runs.start(await childRequest(definitions, header, call));
}

/** Resolves when the child has ended. Rejects if the child stops here, or with the reason of the call's signal. */
function waitForEnd(child: ActiveRun, call: ChildCall): Promise<void> {
  const { parent, task } = call;
  const { signal } = task;
  const reportIdleState = (idleState: IdleState): void => {
    task.children.set(child.runId, idleState === 'human' || idleState === 'time' ? idleState : 'running');
    postBlocked(call, child.runId);
    if (child.suspensionReason !== undefined) parent.suspend(child.suspensionReason);
  };
  return new Promise((resolve, reject) => {
    const removeListeners = (): void => {
      stopListening();
      signal.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      removeListeners();
      const reason = signal.reason as Error;
      // If the child cannot be cancelled, the child reports the error.
      if (!isEngineError(reason) && !parent.stopError)
        child.cancel('The parent run was stopped.').catch(() => undefined);
      reject(reason);
    };
    const stopListening = child.listen((event) => {
      if (event.type !== 'idle-state') return;
      if (event.error === undefined && event.idleState !== 'ended') return reportIdleState(event.idleState);
      removeListeners();
      if (event.error === undefined) resolve();
      else reject(event.error);
    });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else if (child.hasEnded() || child.stopError) {
      removeListeners();
      child.whenIdle().then(resolve, reject);
    } else reportIdleState(child.runState.idleState());
  });
}
