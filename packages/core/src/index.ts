// ports
export { EngineError, InvariantError, isEngineError } from './errors.ts';
export type { EngineErrorCode } from './errors.ts';
export type { Json } from './json.ts';
export type { Clock, DefinitionStore, Deployment, NewRun, RunQuery, RunStore, ValueStore } from './ports.ts';
export type { Entry } from './record/entry.ts';
export type { BlockLog } from './record/log.ts';
export type { RunRecord } from './record/run.ts';
