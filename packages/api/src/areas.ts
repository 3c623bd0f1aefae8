/**
 * For hosts that write areas (modules of API operations): operations, the resources that they act on, cursors, and
 * shared schemas.
 */
export {
  emptyBody,
  cursor,
  json,
  noQuery,
  order,
  pageLimit,
  timestamp,
  workflowPath,
  workspaceId,
} from './areas/common-schemas.ts';
export { admitRun } from './admission/admit-run.ts';
export type { Release } from './admission/usage.ts';
export { requireAccess, mayWrite, workspaceIdsOf } from './auth/authorize.ts';
export { AUTHENTICATED_PRINCIPALS, USER_PRINCIPALS } from './auth/principal.ts';
export type { Capability, PrincipalKind } from './auth/principal.ts';
export { cursorCodec } from './cursor.ts';
export { badRequest, conflict, forbidden, notFound, unavailable } from './errors.ts';
export { bytesBody, formBody, jsonBody } from './http/body.ts';
export { eventStream } from './http/stream.ts';
export { operationFactory } from './operation.ts';
export type { AnyOperation, Call, Operation, Reply } from './operation.ts';
export { noResource, organization, areaResource, workflow, workspace } from './resource.ts';
export type { Resource } from './resource.ts';
