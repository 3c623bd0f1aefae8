import { workAt } from '@heddle/core/machine';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  ChildWorkflowFailure,
  executeChild,
  isCancellation,
  ParentClosePolicy,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import type { ChildStart, RunInput } from '../messages.ts';
import { RUN_WORKFLOW } from '../messages.ts';
import { visibilityOptions } from '../search-attributes.ts';
import type { Inbox } from './inbox.ts';
import type { RunHistory } from './run-history.ts';
import { childLost, timerFired } from './synthetic-events.ts';
import type { Timers } from './timers.ts';

interface ChildRunsParts {
  input: RunInput;
  history: RunHistory;
  inbox: Inbox;
  timers: Timers;
  onError: (error: unknown) => void;
}

/** The child runs that blocks wait for. Each is a child workflow. */
export class ChildRuns {
  readonly #parts: ChildRunsParts;
  /** By address and attempt. */
  readonly #scopes = new Map<string, CancellationScope>();

  constructor(parts: ChildRunsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#scopes.size;
  }

  /** Starts a child run. When it ends, its block runs again and reads the child's record. */
  start(child: ChildStart): void {
    const name = `${child.at.join('.')}#${child.try}`;
    const { inbox, history } = this.#parts;
    if (this.#scopes.has(name) || !history.isPending(runCommand(child))) return;
    this.#setTimeout(child);
    const scope = new CancellationScope({ cancellable: true });
    this.#scopes.set(name, scope);
    scope
      .run(() => executeChild(RUN_WORKFLOW, this.#optionsOf(child)))
      .catch((error: unknown) => {
        if (isCancellation(error)) return;
        if (!(error instanceof ChildWorkflowFailure)) throw error;
        if (error.cause instanceof TerminatedFailure || error.cause instanceof TimeoutFailure)
          inbox.post({ batch: childLost(history.skeleton, lossOf(child)) });
      })
      .then(() => this.#onEnd(name, child), this.#parts.onError);
  }

  #onEnd(name: string, child: ChildStart): void {
    this.#scopes.delete(name);
    this.#parts.timers.cancel(`timeout:${child.at.join('.')}`);
    this.#parts.inbox.post({ retry: [runCommand(child)] });
  }

  #optionsOf({ input, at }: ChildStart) {
    return {
      workflowId: input.runId,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      ...visibilityOptions(input),
      args: [{ ...input, parent: { workflowId: this.#parts.input.runId, at: [...at] } }] as [RunInput],
    };
  }

  #setTimeout({ at, try: attempt }: ChildStart): void {
    const { history, timers, inbox } = this.#parts;
    const work = workAt(history.skeleton, history.state, at);
    if (!work || !('dueMs' in work) || work.dueMs === undefined) return;
    const { dueMs } = work;
    timers.set(`timeout:${at.join('.')}`, dueMs, () =>
      inbox.post({ batch: timerFired(history.skeleton, { at, timer: 'timeout', dueMs, attempt }) }),
    );
  }

  /** Cancels the child run of the block at `address`. It counts in `size` until it has ended. */
  cancel(address: string): void {
    for (const [name, scope] of this.#scopes) if (name.startsWith(`${address}#`)) scope.cancel();
  }

  cancelAll(): void {
    for (const scope of this.#scopes.values()) scope.cancel();
  }
}

function runCommand({ at, try: attempt }: ChildStart) {
  return { type: 'run' as const, at, try: attempt };
}

function lossOf({ at, input, try: attempt }: ChildStart) {
  return { at, runId: input.runId, atMs: Date.now(), attempt };
}
