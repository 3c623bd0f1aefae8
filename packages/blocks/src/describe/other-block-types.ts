import * as z from 'zod';
import { circlebackSchema, webhookSchema } from '../triggers/webhook/webhook.ts';
import { describeBlock } from './describe.ts';
import type { BlockDescription } from './describe.ts';

const note = {
  summary: 'Is a comment. Heddle ignores it and its edges.',
  fields: z.object({ content: z.string().optional().describe('The comment.') }),
  outputs: z.object({}),
};

/** Triggers whose events Heddle does not receive. */
const externalEventTrigger = {
  summary: 'Starts a run with an event. Your program receives the event and starts the run.',
  fields: z.object({}),
  outputs: z.looseObject({}),
};

/**
 * Returns the descriptions of comments, of the webhook types `webhook` and `circleback`, and of triggers whose events
 * Heddle does not receive.
 */
export function describeOtherBlockTypes(): BlockDescription[] {
  return [
    describeBlock('note', note),
    describeBlock('webhook', webhookSchema),
    describeBlock('circleback', circlebackSchema),
    describeBlock('trigger', externalEventTrigger),
  ];
}
