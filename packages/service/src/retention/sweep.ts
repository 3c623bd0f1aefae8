import type { AreaContext } from '@heddle/api';
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { LogTables } from '../logs/tables.ts';

/** A running sweep. */
export interface SweepContext {
  /** Pauses, so that runs can continue between two deletions. Returns false if the sweep must end. */
  continueAfterPause(): Promise<boolean>;
}

/** Deletes the records of one kind that are beyond its limit. */
export type RetentionJob = (sweep: SweepContext) => Promise<void>;

export interface SweepOptions {
  db: Kysely<LogTables>;
  jobs: readonly RetentionJob[];
  now: () => number;
  repeat: AreaContext['repeat'];
  /** Resolves after a pause between two deletions. */
  pause: () => Promise<void>;
  onError: (error: unknown) => void;
}

const SWEEP_INTERVAL_MS = 600_000;
const LEASE_NAME = 'retention';
const LEASE_MS = 60_000;

/**
 * Runs the jobs sequentially, in the background: at the start, and every ten minutes. One process at a time sweeps, and
 * pauses between deletions, so that a sweep never holds up runs for long.
 */
export class RetentionSweeper {
  readonly #options: SweepOptions;
  readonly #owner = randomUUID();
  readonly #stopTimer: () => void;
  #currentSweep: Promise<void> | undefined;
  #renewAtMs = 0;
  #isClosed = false;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#stopTimer = options.repeat(SWEEP_INTERVAL_MS, () => this.#startSweep());
    this.#startSweep();
  }

  /** Deletes the records beyond the limits now, unless another process is doing so. */
  sweep(): Promise<void> {
    return (this.#currentSweep ??= this.#sweepWithLease().finally(() => {
      this.#currentSweep = undefined;
    }));
  }

  /** Stops sweeping. Resolves when the current sweep has stopped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.#currentSweep?.catch(() => undefined);
  }

  #startSweep(): void {
    this.sweep().catch(this.#options.onError);
  }

  async #sweepWithLease(): Promise<void> {
    const { db, jobs, onError } = this.#options;
    if (!(await this.#takeLease())) return;
    try {
      for (const job of jobs) {
        if (this.#isClosed || !(await this.#hasLease())) return;
        // After a failed job, the other jobs still run.
        await job({ continueAfterPause: () => this.#continueAfterPause() }).catch(onError);
      }
    } finally {
      await releaseLease(db, this.#leaseRequest());
    }
  }

  async #continueAfterPause(): Promise<boolean> {
    if (this.#isClosed) return false;
    await this.#options.pause();
    return !this.#isClosed && (await this.#hasLease());
  }

  /** Returns whether this process holds the lease. Extends the lease when half of it has elapsed. */
  async #hasLease(): Promise<boolean> {
    return this.#options.now() < this.#renewAtMs || this.#takeLease();
  }

  async #takeLease(): Promise<boolean> {
    const { db, now } = this.#options;
    const nowMs = now();
    const isAcquired = await takeLease(db, this.#leaseRequest());
    this.#renewAtMs = isAcquired ? nowMs + LEASE_MS / 2 : 0;
    return isAcquired;
  }

  #leaseRequest() {
    return { name: LEASE_NAME, owner: this.#owner, nowMs: this.#options.now(), leaseMs: LEASE_MS };
  }
}

/** A lease for a job that at most one process runs at a time. */
interface LeaseRequest {
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
async function releaseLease(db: Kysely<LogTables>, { name, owner }: LeaseRequest): Promise<void> {
  await db.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute();
}
