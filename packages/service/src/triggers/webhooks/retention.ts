import type { Kysely } from 'kysely';
import type { WebhookTables } from './tables.ts';

/** Time for which deliveries are stored, and duplicates are detected. */
export const DELIVERY_RETENTION_MS = 7 * 24 * 3_600_000;
export const SWEEP_MS = 600_000;
/** Maximum number of rows in one statement. */
const BATCH = 1000;

/**
 * Deletes deliveries and counts of refused requests before `beforeMs`. Several processes may call this at the same
 * time.
 */
export async function sweepDeliveries(db: Kysely<WebhookTables>, beforeMs: number): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await db
      .deleteFrom('webhook_deliveries')
      .where('id', 'in', (eb) =>
        eb.selectFrom('webhook_deliveries').select('id').where('received_ms', '<', beforeMs).limit(BATCH),
      )
      .executeTakeFirst();
    if (Number(numDeletedRows) < BATCH) break;
  }
  await db.deleteFrom('webhook_refusals').where('last_ms', '<', beforeMs).execute();
}
