import type { Kysely } from 'kysely';
import type { LogTables } from '../logs/tables.ts';

/** A lease for a job that at most one process does at a time. */
export interface LeaseRequest {
  name: string;
  /** Id of the process. */
  owner: string;
  nowMs: number;
  leaseMs: number;
}

/** Takes or extends the lease. Returns false if another process holds it. */
export async function takeLease(
  db: Kysely<LogTables>,
  { name, owner, nowMs, leaseMs }: LeaseRequest,
): Promise<boolean> {
  const lease = { name, owner, expires_ms: nowMs + leaseMs };
  const result = await db
    .insertInto('leases')
    .values(lease)
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ owner, expires_ms: lease.expires_ms })
        .where((eb) => eb.or([eb('leases.owner', '=', owner), eb('leases.expires_ms', '<=', nowMs)])),
    )
    .executeTakeFirst();
  return Number(result.numInsertedOrUpdatedRows ?? 0) > 0;
}

/** Releases the lease for other processes. */
export async function releaseLease(db: Kysely<LogTables>, { name, owner }: LeaseRequest): Promise<void> {
  await db.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute();
}
