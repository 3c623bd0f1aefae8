import type { Contender } from '../workload.ts';

/** BullMQ keeps its jobs in Redis, which does not come from npm. */
function skipped(): never {
  throw new Error('skipped: needs Redis');
}

export const contender: Contender = { durable: skipped, 'durable in flight': skipped };
