/** Authors of pages on which people without a credential run workflows. */
export { resolveSelectors } from './areas/runs/selected.ts';
export { executeForVisitor } from './areas/runs/visitor.ts';
export type { VisitorRun } from './areas/runs/visitor.ts';
export { readJson } from './http/parse.ts';
export { respondError } from './http/reply.ts';
