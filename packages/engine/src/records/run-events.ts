import type { BlockLog, Json, PausePoint, RunFailure } from '@heddle/core';
import type {
  ApplyResult,
  Command,
  Entry,
  Transition,
  RunState,
  IdleState,
  StoredValue,
} from '@heddle/core/run';
import type { RunEvent } from '../types.ts';
import type { Values } from './values.ts';

/** An event within the engine: large values are not fetched yet. */
export type RawEvent = { type: 'event'; event: RunEvent; output?: StoredValue | undefined } | IdleStateEvent;

/** The idle state of a run has changed; `error`: the run stopped in this process and cannot continue here. */
export interface IdleStateEvent {
  type: 'idle-state';
  idleState: IdleState;
  error?: Error;
}

/** Returns the events that a journal entry causes, in order. */
export function eventsOf(runState: RunState, entry: Entry, applyResult: ApplyResult): RawEvent[] {
  const { runId } = runState;
  const { atMs } = entry;
  const events: RawEvent[] = [];
  if (entry.type === 'started')
    events.push(toRawEvent({ type: 'run:started', runId, atMs, workflowId: runState.plan.workflow.id }));
  for (const log of applyResult.logs) events.push(logEvent(runId, atMs, log));
  for (const transition of applyResult.transitions)
    if (transition.type === 'opened') events.push(iterationEvent(runState, atMs, transition));
  for (const command of applyResult.commands) {
    if (command.type === 'end') events.push(endEvent(runState, atMs, command.status));
    else if (isRetry(command, entry)) events.push(retryEvent(runState, atMs, command));
  }
  return events;
}

function iterationEvent(
  runState: RunState,
  atMs: number,
  transition: Extract<Transition, { type: 'opened' }>,
): RawEvent {
  const { block } = runState.index.placeOf(transition.at);
  const count = runState.countAt(transition.at);
  const blockName = nameOf(runState, block);
  return toRawEvent({
    type: 'container:iteration',
    runId: runState.runId,
    atMs,
    blockId: block,
    blockName,
    iteration: transition.iteration,
    count,
  });
}

/** True if the command starts another attempt, immediately or after a delay. */
function isRetry(command: Command, entry: Entry): command is Extract<Command, { type: 'run' | 'timer' }> {
  if (command.type === 'timer') return command.timer === 'retry';
  return command.type === 'run' && command.try > 1 && entry.type === 'failed';
}

function toRawEvent(event: RunEvent): RawEvent {
  return { type: 'event', event };
}

function nameOf(runState: RunState, block: string): string {
  return runState.plan.blocks[block]?.name ?? block;
}

/** Returns the type of the event for a block log with this status. */
function logEventType(status: BlockLog['status']) {
  return `block:${status === 'running' ? 'started' : status}` as const;
}

function logEvent(runId: string, atMs: number, log: BlockLog): RawEvent {
  return {
    type: 'event',
    // A copy, because the log changes until the block has ended.
    event: { type: logEventType(log.status), runId, atMs, log: { ...log }, output: null },
    output: log.output,
  };
}

function retryEvent(
  runState: RunState,
  atMs: number,
  command: Extract<Command, { type: 'run' | 'timer' }>,
): RawEvent {
  const { block, scope } = runState.index.placeOf(command.at);
  const dueMs = command.type === 'timer' ? command.dueMs : atMs;
  return toRawEvent({
    type: 'block:retrying',
    runId: runState.runId,
    atMs,
    blockId: block,
    blockName: nameOf(runState, block),
    scope: [...scope],
    attempt: command.try ?? 2,
    dueMs,
  });
}

function endEvent(runState: RunState, atMs: number, status: 'completed' | 'failed' | 'cancelled'): RawEvent {
  const error: RunFailure | undefined = runState.error;
  const event: RunEvent = { type: 'run:ended', runId: runState.runId, atMs, status, output: null, error };
  return { type: 'event', event, output: runState.ledger.output };
}

/** Returns the event in the form for listeners, with its output fetched. */
export async function loadEvent(
  rawEvent: Extract<RawEvent, { type: 'event' }>,
  values: Values,
): Promise<RunEvent> {
  if (!rawEvent.output || !('output' in rawEvent.event)) return rawEvent.event;
  const output: Json = await values.load(rawEvent.output);
  return { ...rawEvent.event, output };
}

export function pausedEvent(
  runId: string,
  atMs: number,
  kind: 'human' | 'time',
  pauses: PausePoint[],
): RunEvent {
  return { type: 'run:paused', runId, atMs, kind, pauses };
}
