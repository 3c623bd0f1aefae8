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
import { shownAs } from '../labels.ts';
import type { ChildDemand, RunInput } from '../messages.ts';
import { RUN_WORKFLOW } from '../messages.ts';
import type { Course } from './course.ts';
import type { Inbox } from './inbox.ts';
import { fired, lostChild } from './made.ts';
import type { Timers } from './timers.ts';

interface ChildrenParts {
  input: RunInput;
  course: Course;
  inbox: Inbox;
  timers: Timers;
  broken: (error: unknown) => void;
}

/** The child runs that blocks wait for, each a workflow of its own. */
export class Children {
  private readonly parts: ChildrenParts;
  /** By address and try. */
  private readonly scopes = new Map<string, CancellationScope>();

  constructor(parts: ChildrenParts) {
    this.parts = parts;
  }

  get size(): number {
    return this.scopes.size;
  }

  /** Starts the child run; when it has ended, its block runs again and reads its record. */
  start(demand: ChildDemand): void {
    const name = `${demand.at.join('.')}#${demand.try}`;
    const { inbox, course } = this.parts;
    if (this.scopes.has(name) || !course.owes(runOf(demand))) return;
    this.setTimeout(demand);
    const scope = new CancellationScope({ cancellable: true });
    this.scopes.set(name, scope);
    scope
      .run(() => executeChild(RUN_WORKFLOW, this.optionsOf(demand)))
      .catch((error: unknown) => {
        if (isCancellation(error)) return;
        if (!(error instanceof ChildWorkflowFailure)) throw error;
        if (error.cause instanceof TerminatedFailure || error.cause instanceof TimeoutFailure)
          inbox.post({ happened: lostChild(course.skeleton, this.lostOf(demand)) });
      })
      .then(() => this.ended(name, demand), this.parts.broken);
  }

  private ended(name: string, demand: ChildDemand): void {
    this.scopes.delete(name);
    this.parts.timers.cancel(`timeout:${demand.at.join('.')}`);
    this.parts.inbox.post({ again: [runOf(demand)] });
  }

  private optionsOf({ input, at }: ChildDemand) {
    return {
      workflowId: input.runId,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      ...shownAs(input),
      args: [{ ...input, parent: { workflowId: this.parts.input.runId, at: [...at] } }] as [RunInput],
    };
  }

  private lostOf({ at, input, try: attempt }: ChildDemand) {
    return { at, runId: input.runId, atMs: Date.now(), attempt };
  }

  private setTimeout(demand: ChildDemand): void {
    const { at, try: attempt } = demand;
    const { course, timers, inbox } = this.parts;
    const work = workAt(course.skeleton, course.state, at);
    if (!work || !('dueMs' in work) || work.dueMs === undefined) return;
    const { dueMs } = work;
    timers.set(`timeout:${at.join('.')}`, dueMs, () =>
      inbox.post({ happened: fired(course.skeleton, { at, timer: 'timeout', dueMs, attempt }) }),
    );
  }

  /** Cancels the child run of the block at `address`; it counts until it has ended. */
  cancel(address: string): void {
    for (const [name, scope] of this.scopes) if (name.startsWith(`${address}#`)) scope.cancel();
  }

  cancelAll(): void {
    for (const scope of this.scopes.values()) scope.cancel();
  }
}

function runOf({ at, try: attempt }: ChildDemand) {
  return { type: 'run' as const, at, try: attempt };
}
