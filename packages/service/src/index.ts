/** The areas of the v2 interface that have tables of their own. */
export { openLogs } from './logs/area.ts';
export type { LogOptions, Logs } from './logs/area.ts';
export type { RetentionLimits } from './logs/retention.ts';
export { openServiceOwnership, openServiceStore } from './store.ts';
