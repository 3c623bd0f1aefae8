import './node-version.ts';

// API for drivers and for readers of journals
export { isPending } from './machine/index.ts';
export type { Address, Command, Event, Transition, IdleState } from './machine/index.ts';
export { indexPlan } from './plan/index-plan.ts';
export type { PlanIndex } from './plan/index-plan.ts';
export { eventAt, oldestJournalFormat, JOURNAL_FORMAT } from './record/entry.ts';
export type { BlockFailure, Entry, EntryBody, Place } from './record/entry.ts';
export { journalCorruptError } from './errors.ts';
export { notRestartableError } from './record/restart-path.ts';
export { collectReusedContainerData } from './record/reused-container-data.ts';
export { replaySourceRun } from './record/source-run.ts';
export type { SourceRun } from './record/source-run.ts';
export { startedEventOf } from './record/started-event.ts';
export { placeKey, Ledger } from './record/ledger.ts';
export type { BlockLog } from './record/block-log.ts';
export { RunState } from './record/run-state.ts';
export type { ApplyResult } from './record/run-state.ts';
export type { PausePoint, RunFailure, RunRecord, RunStatus } from './record/run-record.ts';
export { scopeFrom } from './record/scope.ts';
export type { BranchScope, Output } from './record/scope.ts';
export { SPAN_FORMAT, traceOf } from './record/trace.ts';
export type { Span } from './record/trace.ts';
export { INLINE_LIMIT_BYTES, keysIn, materialize } from './record/stored-value.ts';
export type { StoredValue } from './record/stored-value.ts';
