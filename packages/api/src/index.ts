/** The v2 HTTP interface of an engine. */
export { memoryLimiter } from './admission/limiter.ts';
export type { Bucket, LimitKind, LimitState, Limiter } from './admission/limiter.ts';
export { memoryConcurrency } from './admission/usage.ts';
export type { Concurrency, RunRequest, Usage, UsageRefusal } from './admission/usage.ts';
export { keyAuthenticator } from './areas/keys/store.ts';
export type { ApiKeyInfo, KeyOwner } from './areas/keys/store.ts';
export type { Authenticator, Credentials, Principal, Role, Scope } from './auth/principal.ts';
export { createApi } from './create.ts';
export type { Api, ApiOptions, FunctionCall } from './create.ts';
export { ApiError, isApiError, refusalOf } from './errors.ts';
export type { ApiDetailCode, ApiErrorCode } from './errors.ts';
export type { Reply } from './operation.ts';
export type { ExecutionPolicy } from './services.ts';
export { openApiStore, openWorkflowOwnership } from './store/open.ts';
export type { ApiStore, ApiStoreOptions, WorkflowOwnership } from './store/open.ts';
