import { isEngineError } from '@heddle/core';
import type { IdleState } from '@heddle/core/run';
import type { ChildOutcome, ChildRequest } from '../../executors/services.ts';
import { childFault } from '../../execution/child-runs.ts';
import type { ChildAttempt } from '../../execution/child-runs.ts';
import type { ActiveRun } from './active-run.ts';

/** Where child runs come from. */
export interface Children {
  /** The child as it runs: recovered, or newly started; undefined when it has ended. */
  childRun(call: ChildCall): Promise<ActiveRun | undefined>;
  childOutcome(call: ChildCall): Promise<ChildOutcome>;
}

/** A block that runs a child. */
export interface ChildCall extends ChildAttempt {
  parent: ActiveRun;
  request: ChildRequest;
  /** Aborted with an EngineError when the parent only stops here, with any other error when it wants the child no more. */
  signal: AbortSignal;
}

/** Runs the child to its end; its rests are its parent's, and its parent's cancel reaches it. */
export async function callChild(children: Children, call: ChildCall): Promise<ChildOutcome> {
  try {
    const child = await children.childRun(call);
    if (child) await ended(child, call);
    return await children.childOutcome(call);
  } catch (error) {
    throw childFault(error);
  }
}

function ended(child: ActiveRun, { parent, place, signal }: ChildCall): Promise<void> {
  const tell = (rest: IdleState): void => {
    const on = rest === 'human' || rest === 'time' ? rest : null;
    parent.post({ type: 'blocked', ...place, childRunId: child.runId, on });
    parent.heard(place);
    if (child.suspended !== undefined) parent.suspend(child.suspended);
  };
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      stop();
      signal.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      leave();
      const reason = signal.reason as Error;
      // The child reports by itself when it cannot be cancelled.
      if (!isEngineError(reason)) child.cancel('The parent run was stopped.').catch(() => undefined);
      reject(reason);
    };
    const stop = child.listen((event) => {
      if (event.type !== 'rest') return;
      if (event.error === undefined && event.rest !== 'ended') return tell(event.rest);
      leave();
      if (event.error === undefined) resolve();
      else reject(event.error);
    });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else if (child.ended() || child.broken) {
      leave();
      child.rested().then(resolve, reject);
    } else tell(child.replica.idleState());
  });
}
