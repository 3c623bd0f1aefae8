import type { Contender } from '../workload.ts';

/** Skips the measurement, because BullMQ stores its jobs in Redis, which cannot be installed from npm. */
function skip(): never {
  throw new Error('skipped: needs Redis');
}

export const contender: Contender = { durable: skip, 'durable in flight': skip };
