/** Guarded HTTP client, also for the host's own requests. */
export { createEgress, type Egress } from './egress.ts';
export { EgressError, isEgressError, type EgressErrorCode } from './error.ts';
export type {
  Address,
  EgressPolicy,
  EgressRequest,
  EgressResponse,
  HeaderPairs,
  Resolve,
  Target,
} from './types.ts';
