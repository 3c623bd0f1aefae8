/** The areas of the service one by one, for hosts that serve some of them. `serviceAreas` returns all. */
export { logs } from './logs/area.ts';
export { secrets } from './secrets/area.ts';
export { publicRuns } from './store/public-runs.ts';
export { transfers } from './transfer/area.ts';
export { workflows } from './workflows/area.ts';
export type { WorkflowOptions } from './workflows/area.ts';
