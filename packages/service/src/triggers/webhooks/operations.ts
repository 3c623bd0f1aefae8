import {
  conflict,
  cursorCodec,
  emptyBody,
  AUTHENTICATED_PRINCIPALS,
  noQuery,
  operationFactory,
  areaResource,
  workspace,
} from '@heddle/api/areas';
import { WEBHOOK_PREFIX } from '@heddle/api/webhooks';
import { isEngineError } from '@heddle/core';
import type { JsonObject } from '@heddle/core';
import type { QueuedStart } from '@heddle/api/ports';
import * as z from 'zod';
import { afterCondition, pageOf } from '../../paging.ts';
import { findEvents } from '../flow/views.ts';
import { requireUnlocked } from '../../workflows/folders.ts';
import { toDeployedTrigger, selectDeployedTriggers } from '../views.ts';
import type { DeployedTrigger } from '../views.ts';
import * as schemas from './schemas.ts';
import type { DatabaseWebhookStore, WebhookServices } from './store.ts';
import { findDelivery, deliveryView, webhookViews } from './views.ts';
import type { DeliveryRow } from './tables.ts';

/** Dependencies of the operations of webhooks. */
export interface WebhookOperationServices extends WebhookServices {
  webhooks: DatabaseWebhookStore;
}

const defineOperation = operationFactory<WebhookOperationServices>();
const READ_FIELDS = {
  tag: 'Webhooks',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const WRITE_FIELDS = {
  tag: 'Webhooks',
  scope: 'api:write',
  role: 'write',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const READ_ERRORS = [400, 401, 403, 404, 429] as const;

/** The webhook that `triggerId` in the path names, of a workflow that is deployed and not archived. */
const webhookResource = areaResource<DeployedTrigger, WebhookOperationServices>(
  'Webhook',
  async ({ path }, services) => {
    const value = await findWebhook(services, (path as { triggerId: string }).triggerId);
    return value && { value, workspaceIds: [value.workspace_id] };
  },
);

async function findWebhook(
  { db, types }: WebhookOperationServices,
  triggerId: string,
): Promise<DeployedTrigger | undefined> {
  const [row] = await selectDeployedTriggers(db as never)
    .where('triggers.id', '=', triggerId)
    .execute();
  const value = row && toDeployedTrigger(row);
  return value && types.get(value.type)?.kind === 'webhook' ? value : undefined;
}

/** The delivery that the path names. */
const deliveryResource = areaResource<
  { trigger: DeployedTrigger; row: DeliveryRow },
  WebhookOperationServices
>('Delivery', async ({ path }, services) => {
  const { triggerId, deliveryId } = path as { triggerId: string; deliveryId: string };
  const trigger = await findWebhook(services, triggerId);
  const row = trigger && (await findDelivery(services.db, trigger, deliveryId));
  return trigger && row && { value: { trigger, row }, workspaceIds: [trigger.workspace_id] };
});

const webhookPositionCodec = cursorCodec(schemas.webhookPosition);
const deliveryPositionCodec = cursorCodec(schemas.deliveryPosition);

export const listWebhooks = defineOperation({
  ...READ_FIELDS,
  id: 'listWebhooks',
  method: 'GET',
  path: '/api/v2/webhooks',
  summary: 'List the webhooks of deployed workflows with their URLs',
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.webhookItem, isPage: true, description: 'A page of webhooks' }],
  errors: READ_ERRORS,
  async handle(services, { query, origin }) {
    const { workspaceId, workflowId, limit } = query;
    const filters = { workspaceId, workflowId };
    const [afterPosition] = webhookPositionCodec.decode(query.cursor, filters) ?? [];
    await services.webhooks.flush();
    const types = [...services.types.values()]
      .filter(({ kind }) => kind === 'webhook')
      .map(({ type }) => type);
    const fetchedRows = await selectDeployedTriggers(services.db as never)
      .where('triggers.workspace_id', '=', workspaceId)
      .where('triggers.type', 'in', types.length > 0 ? types : [''])
      .$if(workflowId !== undefined, (builder) =>
        builder.where('triggers.workflow_id', '=', workflowId ?? ''),
      )
      .$if(afterPosition !== undefined, (builder) => builder.where('triggers.id', '>', afterPosition ?? ''))
      .orderBy('triggers.id')
      .limit(limit + 1)
      .execute();
    const { rows, next } = pageOf(fetchedRows, limit, ({ id }): [string] => [id]);
    const page = await webhookViews(
      services,
      rows.flatMap((row) => toDeployedTrigger(row) ?? []),
      origin + WEBHOOK_PREFIX,
    );
    return { page, nextCursor: next ? webhookPositionCodec.encode(next, filters) : null };
  },
});

export const listWebhookDeliveries = defineOperation({
  ...READ_FIELDS,
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: '/api/v2/webhooks/{triggerId}/deliveries',
  summary: 'List the accepted deliveries of a webhook, newest first',
  resource: webhookResource,
  params: schemas.webhookPath,
  query: schemas.deliveriesQuery,
  success: [{ status: 200, schema: schemas.deliveryItem, isPage: true, description: 'A page of deliveries' }],
  errors: READ_ERRORS,
  async handle({ db }, { query }, trigger) {
    const { limit } = query;
    const filters = { trigger: trigger.id };
    const afterPosition = deliveryPositionCodec.decode(query.cursor, filters);
    const fetchedRows = await db
      .selectFrom('webhook_deliveries')
      .selectAll()
      .where('workflow_id', '=', trigger.workflow_id)
      .where('block_id', '=', trigger.block_id)
      .$if(afterPosition !== undefined, (builder) =>
        builder.where(afterCondition(['received_ms', 'id'], afterPosition ?? [], 'desc')),
      )
      .orderBy('received_ms', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    const { rows, next } = pageOf(fetchedRows, limit, (row): [number, string] => [
      Number(row.received_ms),
      row.id,
    ]);
    const events = await findEvents(
      db as never,
      rows.map(({ id }) => id),
    );
    const page = rows.map((row) => deliveryView(row, events));
    return { page, nextCursor: next ? deliveryPositionCodec.encode(next, filters) : null };
  },
});

export const replayWebhookDelivery = defineOperation({
  ...WRITE_FIELDS,
  id: 'replayWebhookDelivery',
  method: 'POST',
  path: '/api/v2/webhooks/{triggerId}/deliveries/{deliveryId}/replay',
  summary: 'Start a run of the live version with the input of a delivery',
  audit: { resourceType: 'trigger', actions: ['WEBHOOK_DELIVERY_REPLAYED'] },
  resource: deliveryResource,
  params: schemas.deliveryPath,
  query: noQuery,
  body: emptyBody,
  bodyOptional: true,
  success: [{ status: 202, schema: schemas.replayResult, description: 'The run was accepted' }],
  errors: [400, 401, 402, 403, 404, 409, 413, 415, 423, 429, 503],
  async handle(services, { recordAudit }, { trigger, row }) {
    await requireUnlocked(services.db, trigger);
    const type = services.types.get(trigger.type);
    if (type?.kind !== 'webhook' || trigger.state !== 'active') throw conflict('The webhook is not active');
    const input = await readInput(services, row);
    const { workflow_id: workflowId, block_id: blockId, version, engine_version: engineVersion } = trigger;
    const { method, content_type: contentType, bytes: byteLength } = row;
    const acceptedEvent = await services.webhooks.acceptDelivery(
      {
        ...{
          key: `${workflowId} ${blockId}`,
          workspaceId: trigger.workspace_id,
          workflowId,
          blockId,
          type,
          version,
          engineVersion,
        },
        config: JSON.parse(trigger.config) as JsonObject,
      },
      { deliveryId: undefined, event: row.event ?? undefined, input, method, contentType, byteLength },
      row.id,
    );
    if (!acceptedEvent) throw conflict('Another version of the workflow has become live. Please retry.');
    const { runId } = acceptedEvent;
    await recordAudit({ resourceId: trigger.id, details: { deliveryId: row.id, runId } });
    return { status: 202, data: { runId, workflowId } };
  },
});

/** Returns the input of the run of a delivery. Throws 409 if the input is no longer stored. */
async function readInput(services: WebhookOperationServices, row: DeliveryRow): Promise<JsonObject> {
  const event = (await findEvents(services.db as never, [row.id])).get(row.id);
  if (event?.state === 'merged' || event?.state === 'dropped')
    throw conflict('The delivery has started no run, so its input is not stored');
  if (event?.input != null) return JSON.parse(event.input) as JsonObject;
  const input = await readRunInput(services, row);
  if (event?.position == null) return input;
  const { events } = input;
  return (Array.isArray(events) ? events[event.position - 1] : undefined) as JsonObject;
}

async function readRunInput(
  { engine, db }: WebhookOperationServices,
  { run_id: runId }: DeliveryRow,
): Promise<JsonObject> {
  const reservation = await db
    .selectFrom('claims')
    .select('waiting')
    .where('engine_id', '=', runId)
    .executeTakeFirst();
  if (reservation?.waiting) return (JSON.parse(reservation.waiting) as QueuedStart).input as JsonObject;
  try {
    const { input } = await engine.getTrace(runId);
    if (input) return (await engine.readValue(input)) as JsonObject;
  } catch (error) {
    if (!isEngineError(error) || (error.code !== 'RUN_NOT_FOUND' && error.code !== 'VALUE_MISSING'))
      throw error;
  }
  throw conflict('The run of the delivery was deleted together with its input');
}
