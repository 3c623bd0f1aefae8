import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import type { CancelMessage, ChildMessage, ResumeMessage } from '../messages.ts';
import { CANCEL_SIGNAL, CHILD_SIGNAL, RESUME_UPDATE } from '../messages.ts';
import type { DurabilityTracker } from './durability-tracker.ts';
import type { Inbox } from './inbox.ts';
import type { RunHistory } from './run-history.ts';

/** Maximum time for which a cancelled run waits for the cancel request that its signal announced. */
const REQUEST_TIMEOUT_MS = 5_000;

const resumeUpdate = defineUpdate<number, [ResumeMessage]>(RESUME_UPDATE);
const cancelSignal = defineSignal<[CancelMessage]>(CANCEL_SIGNAL);
const childSignal = defineSignal<[ChildMessage]>(CHILD_SIGNAL);

/**
 * Tracks the cancel request of a workflow. Heddle cancels a run with a signal that contains the reason and the journal
 * entry. The server shows a workflow as cancelled only if its cancellation was also requested. The signal therefore
 * announces a cancel request, which its sender sends next.
 */
export class CancelTracker {
  #isAnnounced = false;
  #isRequested = false;

  /** `onUnannouncedRequest`: called if the workflow is cancelled without a signal. */
  constructor(onUnannouncedRequest: () => void) {
    CancellationScope.current().cancelRequested.catch(() => {
      this.#isRequested = true;
      if (!this.#isAnnounced) onUnannouncedRequest();
    });
  }

  /** Records that a cancel request follows the signal. */
  announce(): void {
    this.#isAnnounced = true;
  }

  /** Resolves when the announced request has arrived, or after `REQUEST_TIMEOUT_MS` if its sender has died. */
  async whenRequested(): Promise<void> {
    if (this.#isAnnounced && !this.#isRequested) await condition(() => this.#isRequested, REQUEST_TIMEOUT_MS);
  }
}

/** Adds messages for the run to its inbox. Must be called before the workflow waits for anything. */
export function registerMessageHandlers({
  history,
  inbox,
  durability,
  cancelTracker,
  onChildMessage,
}: {
  history: RunHistory;
  inbox: Inbox;
  durability: DurabilityTracker;
  cancelTracker: CancelTracker;
  onChildMessage: (message: ChildMessage) => void;
}): void {
  setHandler(
    resumeUpdate,
    async ({ id, chunk, at, atMs, attempt, resumes, seq = 0 }) => {
      if (!history.hasReached(seq)) await history.whenReached(seq);
      return new Promise<number>((onRecorded) => {
        durability.markVolatile();
        const attemptFields = {
          ...(attempt !== undefined && { attempt }),
          ...(resumes !== undefined && { resumes }),
        };
        inbox.post({
          batch: { id, chunk, events: [{ type: 'resumed', at, atMs, ...attemptFields }] },
          onRecorded,
        });
      });
    },
    {
      // An update that the validator rejects leaves no trace in the history.
      validator: ({ at, tokenHash, seq = 0 }) => {
        // After a lost workflow task, the caller may have read a longer journal than the run has: the handler waits.
        if (history.hasReached(seq) && !history.isOpen(at, tokenHash))
          throw ApplicationFailure.nonRetryable('The pause point is not open.', 'RESUME_POINT_CLOSED');
      },
    },
  );
  setHandler(cancelSignal, ({ id, chunk, atMs, announced }) => {
    if (announced) cancelTracker.announce();
    inbox.post({ batch: { id, chunk, events: [{ type: 'cancelled', atMs }] } });
  });
  setHandler(childSignal, onChildMessage);
}
