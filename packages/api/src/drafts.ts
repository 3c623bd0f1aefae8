/** What operations on drafts share: graphs, problems, and rows of workflows. */
export { exported, graphOf, idsOf, readGraph, seededGraph } from './areas/workflows/graph.ts';
export { lint } from './areas/workflows/lint.ts';
export { withoutCredentials } from './areas/workflows/redact.ts';
export { graphBody, lintReport, workflowItem } from './areas/workflows/schemas.ts';
export { activeVersion, itemsOf, needsRedeployment } from './areas/workflows/views.ts';
export { isDuplicate } from './store/database.ts';
export type { WorkflowRow } from './store/schema.ts';
