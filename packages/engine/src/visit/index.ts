/** A data folder seen from beside the process that runs it. */
export { visitData, visitPostgres } from './visitor.ts';
export type { Asked, RunReader, ShownLog, ShownRun, Visitor } from './visitor.ts';
