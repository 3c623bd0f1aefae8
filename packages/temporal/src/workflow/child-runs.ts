import { workAt } from '@heddle/core/machine';
import {
  ApplicationFailure,
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
import type { ChildMessage, ChildStart, RunInput } from '../messages.ts';
import { RUN_FAILED, RUN_WORKFLOW } from '../messages.ts';
import { visibilityOptionsOf } from '../search-attributes.ts';
import type { Inbox } from './inbox.ts';
import { nodeAt } from './run-history.ts';
import type { RunHistory } from './run-history.ts';
import { createBlockedEventBatch, createLostChildBatch, createTimerBatch } from './synthetic-events.ts';
import type { Timers } from './timers.ts';

interface ChildRunsContext {
  input: RunInput;
  history: RunHistory;
  inbox: Inbox;
  timers: Timers;
  onError: (error: unknown) => void;
}

/** A child run that a block waits for. */
interface PendingChild {
  child: ChildStart;
  scope: CancellationScope;
  /** The wait reason of the child's last report; null if the child is running. */
  waitReason: ChildMessage['on'];
}

/** The child runs that blocks wait for. Each is a child workflow. */
export class ChildRuns {
  readonly #context: ChildRunsContext;
  /** By run id. */
  readonly #pendingChildren = new Map<string, PendingChild>();

  constructor(context: ChildRunsContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#pendingChildren.size;
  }

  /** Starts a child run. When it ends, its block runs again and reads the child's record. */
  start(child: ChildStart): void {
    const { runId } = child.input;
    const { inbox, history } = this.#context;
    if (this.#pendingChildren.has(runId) || !history.isPending(toRunCommand(child))) return;
    this.#setBlockTimeout(child);
    const scope = new CancellationScope({ cancellable: true });
    this.#pendingChildren.set(runId, { child, scope, waitReason: null });
    scope
      .run(() => executeChild(RUN_WORKFLOW, this.#optionsOf(child)))
      .catch((error: unknown) => {
        if (isCancellation(error)) return;
        if (!(error instanceof ChildWorkflowFailure)) throw error;
        const { cause } = error;
        if (cause instanceof ApplicationFailure && cause.type === RUN_FAILED) return;
        // A fault that stops a child run is not a failure of its block: it also stops this run, with the same reason.
        if (!(cause instanceof TerminatedFailure || cause instanceof TimeoutFailure)) throw cause ?? error;
        inbox.post({ batch: createLostChildBatch(history.skeleton, toLostChild(child)) });
        // The block has failed and no longer needs its other child runs.
        this.cancel(child.at.join('.'));
      })
      .then(() => this.#onEnd(child), this.#context.onError);
  }

  /** Records what a child run waits for. A block with several child runs waits only if all of them wait. */
  report(message: ChildMessage): void {
    const pendingChild = this.#pendingChildren.get(message.runId);
    if (pendingChild) pendingChild.waitReason = message.on;
    const siblings = pendingChild ? this.#siblingsOf(pendingChild.child) : [];
    this.#postBlockedEvent({ ...message, on: waitReasonOf([{ waitReason: message.on }, ...siblings]) });
  }

  #postBlockedEvent(message: ChildMessage, id?: string): void {
    const { inbox, history } = this.#context;
    inbox.post({ batch: createBlockedEventBatch(history.skeleton, message, id) });
  }

  #onEnd(child: ChildStart): void {
    const { at, input } = child;
    const { runId } = input;
    const endedChild = this.#pendingChildren.get(runId);
    this.#pendingChildren.delete(runId);
    const siblings = this.#siblingsOf(child);
    // The block continues when all its child runs have ended.
    const isLast = siblings.length === 0;
    const address = at.join('.');
    if (isLast && this.#childrenAt(address).length === 0) this.#context.timers.cancel(`timeout:${address}`);
    // A block of class effect (an agent) continues. A block of any other class ends now.
    const continues = nodeAt(this.#context.history.skeleton, at).class === 'effect';
    const waitReason = isLast ? null : waitReasonOf(siblings);
    if (continues && endedChild && endedChild.waitReason !== waitReason)
      this.#postBlockedEvent({ at, runId, on: waitReason, atMs: Date.now() }, `ended:${runId}`);
    if (isLast) this.#context.inbox.post({ commandsToRetry: [toRunCommand(child)] });
  }

  #childrenAt(address: string): PendingChild[] {
    return [...this.#pendingChildren.values()].filter(({ child }) => child.at.join('.') === address);
  }

  /** Returns the other child runs of the same attempt. */
  #siblingsOf(child: ChildStart): PendingChild[] {
    return this.#childrenAt(child.at.join('.')).filter(
      (other) => other.child.try === child.try && other.child.input.runId !== child.input.runId,
    );
  }

  #optionsOf({ input, at }: ChildStart) {
    return {
      workflowId: input.runId,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      ...visibilityOptionsOf(input),
      args: [{ ...input, parent: { workflowId: this.#context.input.runId, at: [...at] } }] as [RunInput],
    };
  }

  #setBlockTimeout({ at, try: attempt }: ChildStart): void {
    const { history, timers, inbox } = this.#context;
    const work = workAt(history.skeleton, history.state, at);
    if (!work || !('dueMs' in work) || work.dueMs === undefined) return;
    const { dueMs } = work;
    timers.set(`timeout:${at.join('.')}`, dueMs, () =>
      inbox.post({ batch: createTimerBatch(history.skeleton, { at, timer: 'timeout', dueMs, attempt }) }),
    );
  }

  /** Cancels the child runs of the block at `address`. They are included in `size` until they have ended. */
  cancel(address: string): void {
    for (const { scope } of this.#childrenAt(address)) scope.cancel();
  }

  cancelAll(): void {
    for (const { scope } of this.#pendingChildren.values()) scope.cancel();
  }
}

/** Returns the wait reason of a block that waits for all of these children; null if one of them is running. */
function waitReasonOf(children: readonly Pick<PendingChild, 'waitReason'>[]): ChildMessage['on'] {
  if (children.some(({ waitReason }) => waitReason === null)) return null;
  return children.some(({ waitReason }) => waitReason === 'time') ? 'time' : 'human';
}

function toRunCommand({ at, try: attempt, resumes }: ChildStart) {
  return { type: 'run' as const, at, try: attempt, ...(resumes !== undefined && { resumes }) };
}

function toLostChild({ at, input, try: attempt, resumes }: ChildStart) {
  const attemptFields = { attempt, ...(resumes !== undefined && { resumes }) };
  return { at, runId: input.runId, atMs: Date.now(), ...attemptFields };
}
