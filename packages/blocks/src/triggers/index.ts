/** The trigger types. `nextDueTime` is for hosts that use their own clock and store. */
// Reports an unsupported Node.js version before anything else fails.
import '@heddle/core/files';
export { parseScheduleConfig } from './schedule/fields.ts';
export type { ScheduleConfig } from './schedule/fields.ts';
export { lastDueTime, nextDueTime } from './schedule/due-times.ts';
export type { Schedule } from './schedule/due-times.ts';
export type { ScheduleTrigger } from './schedule/schedule.ts';
export type { WebhookTrigger } from './webhook/webhook.ts';
export type { EventTrigger } from './events/workspace-event.ts';
import { workspaceEvent } from './events/workspace-event.ts';
import type { EventTrigger } from './events/workspace-event.ts';
import type { FeedTrigger } from '@heddle/engine/triggers';
import { withFlowControl } from './flow-control.ts';
import { gmailTriggers } from './gmail/gmail.ts';
import { imap } from './imap/imap.ts';
import { rss } from './rss/rss.ts';
import { schedule } from './schedule/schedule.ts';
import type { ScheduleTrigger } from './schedule/schedule.ts';
import { webhookTriggers } from './webhook/webhook.ts';
import type { WebhookTrigger } from './webhook/webhook.ts';

/** The trigger types that Heddle fires. */
export const triggerTypes: readonly (ScheduleTrigger | WebhookTrigger | EventTrigger | FeedTrigger)[] = [
  withFlowControl(schedule),
  ...webhookTriggers.map(withFlowControl),
  withFlowControl(workspaceEvent),
  ...[rss, imap, ...gmailTriggers].map(withFlowControl),
];
