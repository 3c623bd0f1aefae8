/** Access tokens, sessions, workflow tools over MCP, and limits on requests and runs. */
export type { TokenClaims, FindUserOfToken } from './access/claims.ts';
export { userFinderByClaim } from './access/claims.ts';
export type { IntrospectionOptions } from './access/introspection.ts';
export type { JwtOptions } from './access/jwt.ts';
export type { ProtectedResource } from './access/metadata.ts';
export { withResourceMetadata } from './access/metadata.ts';
export type { OAuthOptions } from './access/oauth.ts';
export { combineAuthenticators, oauthAuthenticator } from './access/oauth.ts';
export { isFromOwnPage, OneTimeToken, sessionAuthenticator, withSessions } from './access/sessions.ts';
export type { SessionOptions, SessionRules } from './access/sessions.ts';
export type { WorkflowToolsOptions } from './mcp/workflow-tools.ts';
export { withWorkflowTools } from './mcp/workflow-tools.ts';
export type { LimitPlan } from './limits/plan.ts';
export { PLANS, bodyBytesOf, bucketsOf, concurrencyOf, parseLimits, timeoutsOf } from './limits/plan.ts';
export type { SharedLimitOptions, SharedLimits } from './limits/shared.ts';
export { openSharedLimits } from './limits/shared.ts';
