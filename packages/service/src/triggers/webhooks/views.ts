import type { JsonObject } from '@heddle/core';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type * as z from 'zod';
import { flowDecisionOf } from '../flow/views.ts';
import type { findEvents } from '../flow/views.ts';
import type { WebhookRegistrationRow } from '../registrations/tables.ts';
import type { DeployedTrigger } from '../views.ts';
import type * as schemas from './schemas.ts';
import type { WebhookServices } from './store.ts';
import type { DeliveryRow, RefusalRow, WebhookTables } from './tables.ts';

type Db = Kysely<WebhookTables>;

/** Maximum number of reasons that are shown for a webhook. */
const MAX_SHOWN_REASONS = 10;

/**
 * Returns webhooks as the API represents them. The number of queries does not depend on the number of webhooks.
 * `prefix` precedes the path in the URL of each webhook.
 */
export async function webhookViews(
  { db, types }: Pick<WebhookServices, 'db' | 'types'>,
  webhooks: readonly DeployedTrigger[],
  prefix: string,
): Promise<z.output<typeof schemas.webhookItem>[]> {
  if (webhooks.length === 0) return [];
  const paths = groupByWebhook(await findCurrentPaths(db, webhooks));
  const deliveries = groupByWebhook(await findLastDeliveries(db, webhooks));
  const refusals = groupByWebhook(await findRefusals(db, webhooks));
  const registrations = groupByWebhook(await findDesiredRegistrations(db, webhooks));
  return webhooks.flatMap((row) => {
    const type = types.get(row.type);
    const [path] = paths.get(keyOf(row)) ?? [];
    if (type?.kind !== 'webhook' || !path) return [];
    const config = JSON.parse(row.config) as JsonObject;
    const [lastDelivery] = deliveries.get(keyOf(row)) ?? [];
    return {
      ...{ id: row.id, workflowId: row.workflow_id, workflowName: row.workflowName, blockId: row.block_id },
      ...{ name: row.name, type: row.type, provider: type.providerOf(config), version: row.version },
      ...{ state: row.state, url: prefix + path.path, isSigned: type.isSigned(config) },
      lastDeliveryAt: lastDelivery ? timeOf(lastDelivery.received_ms) : null,
      lastRunId: lastDelivery?.run_id ?? null,
      hook: registrationOf(registrations.get(keyOf(row))),
      refusals: (refusals.get(keyOf(row)) ?? []).slice(0, MAX_SHOWN_REASONS).map(refusalView),
    };
  });
}

/** The key by which the rows of a webhook are found: its block. */
type WebhookKey = Pick<DeployedTrigger, 'workflow_id' | 'block_id'>;

function keyOf({ workflow_id, block_id }: WebhookKey): string {
  return JSON.stringify([workflow_id, block_id]);
}

function groupByWebhook<Row extends WebhookKey>(rows: readonly Row[]): Map<string, Row[]> {
  return Map.groupBy(rows, keyOf);
}

/** Returns an SQL expression that lists the keys as rows with the columns `column1` and `column2`. */
function keyRows(webhooks: readonly WebhookKey[]) {
  return sql`(values ${sql.join(webhooks.map(({ workflow_id: id, block_id: block }) => sql`(${id}, ${block})`))})`;
}

function isOneOf(webhooks: readonly WebhookKey[]) {
  return sql<boolean>`(workflow_id, block_id) in ${keyRows(webhooks)}`;
}

function findCurrentPaths(db: Db, webhooks: readonly WebhookKey[]) {
  return db
    .selectFrom('webhook_paths')
    .select(['workflow_id', 'block_id', 'path'])
    .where(isOneOf(webhooks))
    .where('is_current', '=', 1)
    .execute();
}

/**
 * Returns the last delivery of each webhook. The query reads one row of the index for each webhook, regardless of the
 * number of deliveries.
 */
function findLastDeliveries(db: Db, webhooks: readonly WebhookKey[]) {
  const lastId = sql`(select id from webhook_deliveries where workflow_id = column1 and block_id = column2
    order by received_ms desc, id desc limit 1)`;
  return db
    .selectFrom('webhook_deliveries')
    .select(['workflow_id', 'block_id', 'received_ms', 'run_id'])
    .where(sql<boolean>`id in (select ${lastId} from ${keyRows(webhooks)} as webhooks)`)
    .execute();
}

/** Returns the counted reasons of each webhook, the latest first. */
function findRefusals(db: Db, webhooks: readonly WebhookKey[]) {
  return db
    .selectFrom('webhook_refusals')
    .selectAll()
    .where(isOneOf(webhooks))
    .orderBy('last_ms', 'desc')
    .orderBy('reason')
    .execute();
}

function findDesiredRegistrations(db: Db, webhooks: readonly WebhookKey[]) {
  return db
    .selectFrom('provider_hooks')
    .selectAll()
    .where(isOneOf(webhooks))
    .where('wanted', 'is not', null)
    .execute();
}

function registrationOf([row]: readonly WebhookRegistrationRow[] = []): z.output<
  typeof schemas.webhookItem
>['hook'] {
  if (!row || row.state === 'removing') return null;
  const { state, error, checked_ms: checkedMs, expires_ms: expiresMs } = row;
  const toIsoTime = (ms: number | null): string | null => (ms === null ? null : timeOf(ms));
  return { state, error, checkedAt: toIsoTime(checkedMs), expiresAt: toIsoTime(expiresMs) };
}

function refusalView({ reason, count, first_ms: firstMs, last_ms: lastMs }: RefusalRow) {
  return { reason, count, firstAt: timeOf(firstMs), lastAt: timeOf(lastMs) };
}

/** Returns a delivery of a webhook. */
export function findDelivery(
  db: Db,
  { workflow_id, block_id }: DeployedTrigger,
  id: string,
): Promise<DeliveryRow | undefined> {
  return db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('id', '=', id)
    .where('workflow_id', '=', workflow_id)
    .where('block_id', '=', block_id)
    .executeTakeFirst();
}

/** Returns a delivery as the API represents it. `events`: the decisions of flow control. */
export function deliveryView(
  row: DeliveryRow,
  events: Awaited<ReturnType<typeof findEvents>>,
): z.output<typeof schemas.deliveryItem> {
  const event = events.get(row.id);
  return {
    flow: event ? flowDecisionOf(event) : null,
    ...{ id: row.id, deliveryId: row.delivery_id, event: row.event, runId: row.run_id, version: row.version },
    ...{ receivedAt: timeOf(row.received_ms), method: row.method, contentType: row.content_type },
    ...{ bytes: row.bytes, duplicates: row.duplicates, replayOf: row.replay_of },
    lastDuplicateAt: row.last_duplicate_ms === null ? null : timeOf(row.last_duplicate_ms),
  };
}

/** Returns the time as ISO 8601. PostgreSQL returns milliseconds as strings. */
function timeOf(ms: number): string {
  return new Date(Number(ms)).toISOString();
}
