import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import type * as z from 'zod';
import type { Found } from '../views.ts';
import type * as schemas from './schemas.ts';
import type { WebhookServices } from './store.ts';
import type { DeliveryRow, WebhookTables } from './tables.ts';

type Db = Kysely<WebhookTables>;

/** Reasons that are shown for a webhook. */
const SHOWN_REASONS = 10;

/** Returns webhooks as responses show them. `prefix`: what is in front of their paths. */
export async function shownWebhooks(
  { db, types }: Pick<WebhookServices, 'db' | 'types'>,
  found: readonly Found[],
  prefix: string,
): Promise<z.output<typeof schemas.shownWebhook>[]> {
  const shown: z.output<typeof schemas.shownWebhook>[] = [];
  for (const row of found) {
    const type = types.get(row.type);
    const path = await pathOf(db, row);
    if (type?.kind !== 'webhook' || path === undefined) continue;
    const config = JSON.parse(row.config) as JsonObject;
    const last = await lastDelivery(db, row);
    shown.push({
      ...{ id: row.id, workflowId: row.workflow_id, workflowName: row.workflowName, blockId: row.block_id },
      ...{ name: row.name, type: row.type, provider: type.providerOf(config), version: row.version },
      ...{ state: row.state, url: prefix + path, isSigned: type.secretOf(config) !== undefined },
      lastDeliveryAt: last ? timeOf(last.received_ms) : null,
      lastRunId: last?.run_id ?? null,
      refusals: await refusalsOf(db, row),
    });
  }
  return shown;
}

async function pathOf(db: Db, { workflow_id, block_id }: Found): Promise<string | undefined> {
  const found = await db
    .selectFrom('webhook_paths')
    .select('path')
    .where('workflow_id', '=', workflow_id)
    .where('block_id', '=', block_id)
    .where('is_current', '=', 1)
    .executeTakeFirst();
  return found?.path;
}

function lastDelivery(
  db: Db,
  { workflow_id, block_id }: Found,
): Promise<Pick<DeliveryRow, 'received_ms' | 'run_id'> | undefined> {
  return db
    .selectFrom('webhook_deliveries')
    .select(['received_ms', 'run_id'])
    .where('workflow_id', '=', workflow_id)
    .where('block_id', '=', block_id)
    .orderBy('received_ms', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

async function refusalsOf(db: Db, { workflow_id, block_id }: Found) {
  const rows = await db
    .selectFrom('webhook_refusals')
    .selectAll()
    .where('workflow_id', '=', workflow_id)
    .where('block_id', '=', block_id)
    .orderBy('last_ms', 'desc')
    .orderBy('reason')
    .limit(SHOWN_REASONS)
    .execute();
  return rows.map(({ reason, count, first_ms: first, last_ms: last }) => ({
    ...{ reason, count, firstAt: timeOf(first), lastAt: timeOf(last) },
  }));
}

/** Returns a delivery of a webhook. */
export function deliveryOf(
  db: Db,
  { workflow_id, block_id }: Found,
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

/** Returns a delivery as responses show it. */
export function shownDelivery(row: DeliveryRow): z.output<typeof schemas.shownDelivery> {
  return {
    ...{ id: row.id, deliveryId: row.delivery_id, event: row.event, runId: row.run_id, version: row.version },
    ...{ receivedAt: timeOf(row.received_ms), method: row.method, contentType: row.content_type },
    ...{ bytes: row.bytes, duplicates: row.duplicates, replayOf: row.replay_of },
    lastDuplicateAt: row.last_duplicate_ms === null ? null : timeOf(row.last_duplicate_ms),
  };
}

/** PostgreSQL returns milliseconds as text. */
function timeOf(ms: number): string {
  return new Date(Number(ms)).toISOString();
}
