import { cursor, pageLimit, timestamp, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';
import { flowReason, flowState } from '../schemas.ts';

const id = z.string().min(1).max(128);

export const listQuery = z.strictObject({
  workspaceId,
  workflowId: id.optional(),
  limit: pageLimit(100, 50),
  cursor,
});

export const webhookPosition = z.tuple([z.string()]);

export const webhookPath = z.strictObject({ triggerId: id });

export const deliveriesQuery = z.strictObject({ limit: pageLimit(100, 50), cursor });

export const deliveryPosition = z.tuple([z.number(), z.string()]);

export const deliveryPath = z.strictObject({ triggerId: id, deliveryId: id });

const refusal = z.strictObject({
  reason: z
    .string()
    .describe(
      'A code such as SIGNATURE_INVALID, with the event for EVENT_IGNORED; or a status and its message',
    ),
  count: z.int(),
  firstAt: timestamp,
  lastAt: timestamp,
});

export const webhookItem = z.strictObject({
  id: z.string().describe('The id of the trigger'),
  workflowId: z.string(),
  workflowName: z.string(),
  blockId: z.string(),
  name: z.string().describe('Name of the block'),
  type: z.string(),
  provider: z.string(),
  version: z.int().describe('The live version for which the trigger is active'),
  state: z.enum(['active', 'paused', 'suspended']),
  url: z.string(),
  isSigned: z.boolean().describe('Whether requests must have a token or signature'),
  lastDeliveryAt: timestamp.nullable(),
  lastRunId: z.string().nullable(),
  hook: z
    .strictObject({
      state: z.enum(['preparing', 'active', 'failed']),
      error: z.string().nullable(),
      checkedAt: timestamp.nullable(),
      expiresAt: timestamp.nullable(),
    })
    .nullable()
    .describe('The webhook that Heddle creates at the provider; null: none'),
  refusals: z.array(refusal).describe('Requests that started no run, by reason, the latest first'),
});

export const deliveryItem = z.strictObject({
  id: z.string(),
  deliveryId: z.string().nullable().describe("The sender's id, by which duplicates are detected"),
  event: z.string().nullable(),
  runId: z.string(),
  version: z.int(),
  receivedAt: timestamp,
  method: z.string(),
  contentType: z.string(),
  bytes: z.int(),
  duplicates: z.int().describe('Number of duplicates of the delivery'),
  lastDuplicateAt: timestamp.nullable(),
  replayOf: z.string().nullable().describe('The delivery that was replayed'),
  flow: z
    .strictObject({ state: flowState, reason: flowReason, key: z.string() })
    .nullable()
    .describe('The decision of flow control; null: the webhook had no flow control'),
});

export const replayResult = z.strictObject({ runId: z.string(), workflowId: z.string() });
