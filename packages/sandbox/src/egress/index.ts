import '../node-version.ts';

/** An HTTP client that enforces an egress policy. The host can use it for its own requests too. */
export { isDestination, withException } from './destinations.ts';
export { createEgress, type Egress } from './egress.ts';
export { deniedError, EgressError, isEgressError, type EgressErrorCode } from './error.ts';
export type { HeaderList } from './headers.ts';
export { followRedirects, type Hop } from './redirects.ts';
export type { ConnectionOptions } from './transport.ts';
export type {
  IpAddress,
  EgressPolicy,
  EgressRequest,
  EgressResponse,
  EgressStream,
  HeaderPairs,
  Resolve,
  Target,
} from './types.ts';
