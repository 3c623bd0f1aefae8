import type { Kysely } from 'kysely';
import { deleteReceipts } from '../transfer/receipts.ts';
import type { ReceiptTables } from '../transfer/tables.ts';
import type { RetentionJob } from './sweep.ts';

/** Returns the job that deletes receipts of operations some time after these. */
export function receiptRetention({
  db,
  maxAgeMs,
  now,
}: {
  db: Kysely<ReceiptTables>;
  /** Milliseconds for which a receipt is kept. */
  maxAgeMs: number;
  now: () => number;
}): RetentionJob {
  return async (sweeping) => {
    const before = new Date(now() - maxAgeMs).toISOString();
    while ((await deleteReceipts(db, before)) > 0 && (await sweeping.next()));
  };
}
