/** A data folder seen from beside the process that runs it. */
export { visitData } from './visitor.ts';
export type { Asked, ShownLog, Visitor } from './visitor.ts';
