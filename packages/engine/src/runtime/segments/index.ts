/** What runtimes are made of that run an engine's runs somewhere else. */
export { createHost } from './host.ts';
export type { Host } from './host.ts';
export { requireIsolation } from '../../isolation.ts';
export { Segments } from './segments.ts';
export type { SegmentRequest } from './segments.ts';
export type { Happening, Owed } from './segment.ts';
export type { OrderItem, Position, Timed } from './position.ts';
export { RemoteRuns } from './remote-runs.ts';
export type { Recorded } from './recording.ts';
export type { Answer } from './remote-runs.ts';
export { isAtRest, isEnded } from '../../store/journal.ts';
export { pointClosed, runIdTaken, runNotFound } from '../../records/run-errors.ts';
export type { RunRequest } from '../../execution/run-start.ts';
export type { RuntimeParts } from '../../execution/runtime-parts.ts';
export type { LiveRun, RuntimePort, RuntimeProvider } from '../../runtime-port.ts';
