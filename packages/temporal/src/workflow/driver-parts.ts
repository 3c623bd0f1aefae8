import type { IdleState } from '@heddle/core/machine';
import type { RunInput } from '../messages.ts';
import type { Course } from './course.ts';
import type { Inbox } from './inbox.ts';
import type { Work } from './work.ts';

/** What the driver of a run works with, and who is told of it. */
export interface DriverParts {
  input: RunInput;
  course: Course;
  inbox: Inbox;
  work: Work;
  /** Writes down where the run stands. */
  settle: () => Promise<void>;
  /** The run has come to rest, or moves again. */
  rested: (rest: IdleState) => void;
  /** No message is half answered. */
  quiet: () => boolean;
}
