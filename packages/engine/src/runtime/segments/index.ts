/** Exports for runtimes that execute the runs of an engine in other processes. */
export { createWorkerResources } from '../../assemble.ts';
export type { WorkerResources } from '../../assemble.ts';
export { requireIsolation } from '../../isolation.ts';
export { Segments } from './segments.ts';
export type { SegmentRequest } from './segments.ts';
export type { PendingCommand, SegmentOutcome } from './segment.ts';
export type { JournalItem, Position, TimedEntry } from './position.ts';
export { RemoteRuns } from './remote-runs.ts';
export type { RecordedRun } from './recording.ts';
export type { ResumeAnswer } from './remote-runs.ts';
export { isIdle, isEnded } from '../../store/journal.ts';
export { pausePointClosedError, runIdTakenError, runNotFoundError } from '../../records/run-errors.ts';
export type { StartRequest } from '../../execution/run-start.ts';
export type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
export type { LiveRun, RuntimePort, RuntimeProvider } from '../../runtime-port.ts';
