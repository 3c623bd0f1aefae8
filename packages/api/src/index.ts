/** The v2 HTTP API of an engine. A host provides the ports: its stores, access checks and limits. */
export { bucketFor, memoryLimiter, tightestState } from './admission/limiter.ts';
export type { Bucket, Buckets, LimitKind, LimitState, Limiter } from './admission/limiter.ts';
export { callLimit, memoryConcurrency } from './admission/usage.ts';
export type { Concurrency, ConcurrencyLimits, RunRequest, Usage, UsageRefusal } from './admission/usage.ts';
export type { Area, AreaHandler, Database, Migrations } from './area.ts';
export type { AreaContext } from './context.ts';
export { execute, legacy, meta, runs } from './areas/areas.ts';
export type { Authenticator, Credentials, Principal, Role, Scope } from './auth/principal.ts';
export { createApi } from './create.ts';
export type { Api, ApiOptions, FunctionCall } from './create.ts';
export { ApiError, isApiError, refusalOf } from './errors.ts';
export type { ApiDetailCode, ApiErrorCode } from './errors.ts';
export type { Limits, Ports } from './ports.ts';
