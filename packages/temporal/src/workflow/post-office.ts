import { ApplicationFailure, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { CancelMessage, ChildMessage, ResumeMessage } from '../messages.ts';
import { CANCEL_SIGNAL, CHILD_SIGNAL, RESUME_UPDATE } from '../messages.ts';
import type { Cancels } from './cancels.ts';
import type { Course } from './course.ts';
import type { Footing } from './footing.ts';
import type { Inbox } from './inbox.ts';
import { blocked } from './made.ts';

const resume = defineUpdate<number, [ResumeMessage]>(RESUME_UPDATE);
const cancel = defineSignal<[CancelMessage]>(CANCEL_SIGNAL);
const child = defineSignal<[ChildMessage]>(CHILD_SIGNAL);

/** Has the messages to the run put into its inbox. To be called before the workflow waits for anything. */
export function handleMessages({
  course,
  inbox,
  footing,
  cancels,
}: {
  course: Course;
  inbox: Inbox;
  footing: Footing;
  cancels: Cancels;
}): void {
  setHandler(
    resume,
    async ({ id, chunk, at, atMs, seq = 0 }) => {
      if (!course.has(seq)) await course.reached(seq);
      return new Promise<number>((told) => {
        footing.loosen();
        inbox.post({ happened: { id, chunk, events: [{ type: 'resumed', at, atMs }] }, told });
      });
    },
    {
      // A refused update leaves nothing in the history.
      validator: ({ at, tokenHash, seq = 0 }) => {
        // A task that was lost is done again, by a run that is behind what was written meanwhile: the caller has seen more.
        if (course.has(seq) && !course.isOpen(at, tokenHash))
          throw ApplicationFailure.nonRetryable('The pause point is not open.', 'RESUME_POINT_CLOSED');
      },
    },
  );
  setHandler(cancel, ({ id, chunk, atMs, announced }) => {
    if (announced) cancels.announce();
    inbox.post({ happened: { id, chunk, events: [{ type: 'cancelled', atMs }] } });
  });
  setHandler(child, (message) => inbox.post({ happened: blocked(course.skeleton, message) }));
}
