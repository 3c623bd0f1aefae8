import type { IdleState } from '@heddle/core/machine';
import { upsertSearchAttributes } from '@temporalio/workflow';
import { statusAttribute } from '../labels.ts';
import type { ShownStatus } from '../labels.ts';
import type { RunInput } from '../messages.ts';
import type { Course } from './course.ts';

/** Says on the server how the run stands, where search attributes are there for it: an event each time. */
export function showStatus({ profile }: RunInput, { end }: Course, rest: IdleState): void {
  if (profile.attributes !== true) return;
  upsertSearchAttributes([statusAttribute(statusOf(end?.status, rest))]);
}

function statusOf(ended: ShownStatus | undefined, rest: IdleState): ShownStatus {
  if (rest === 'ended') return ended ?? 'failed';
  return rest === 'running' ? 'running' : 'paused';
}
