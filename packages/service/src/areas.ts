/**
 * The individual areas of the service, for hosts that serve some of them. An area is a module of API operations with
 * its own tables. `serviceAreas` returns all areas.
 */
export { catalog } from './catalog/area.ts';
export type { CatalogOptions } from './catalog/area.ts';
export type { BlockDescription } from './catalog/catalog.ts';
export type { ConnectorType } from './catalog/connectors.ts';
export type { CatalogTool } from './catalog/tools.ts';
export { chats } from './chats/area.ts';
export { credentials } from './credentials/area.ts';
export { feeds } from './triggers/feeds/area.ts';
export type { FeedOptions } from './triggers/feeds/area.ts';
export { logs } from './logs/area.ts';
export { secrets } from './secrets/area.ts';
export { resumePages } from './resume/area.ts';
export { retention } from './retention/area.ts';
export type { RetentionLimits } from './retention/area.ts';
export { skills } from './skills/area.ts';
export { transfers } from './transfer/area.ts';
export { events } from './triggers/events/area.ts';
export { triggers } from './triggers/area.ts';
export { Triggers } from './triggers/triggers.ts';
export { webhooks } from './triggers/webhooks/area.ts';
export type { WebhookOptions } from './triggers/webhooks/area.ts';
export { workflows } from './workflows/area.ts';
export type { WorkflowOptions } from './workflows/area.ts';
export { workspaces } from './workspaces/area.ts';
