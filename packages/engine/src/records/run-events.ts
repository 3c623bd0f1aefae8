import type { BlockLog, Json, PausePoint, RunFailure } from '@heddle/core';
import type {
  ApplyResult,
  Command,
  Entry,
  Transition,
  Replica,
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
export function eventsOf(replica: Replica, entry: Entry, applyResult: ApplyResult): RawEvent[] {
  const { runId } = replica;
  const { atMs } = entry;
  const events: RawEvent[] = [];
  if (entry.type === 'started')
    events.push(toRawEvent({ type: 'run:started', runId, atMs, workflowId: replica.plan.workflow.id }));
  for (const log of applyResult.logs) events.push(logEvent(runId, atMs, log));
  for (const transition of applyResult.transitions)
    if (transition.type === 'opened') events.push(iterationEvent(replica, atMs, transition));
  for (const command of applyResult.commands) {
    if (command.type === 'end') events.push(endEvent(replica, atMs, command.status));
    else if (isRetry(command, entry)) events.push(retryEvent(replica, atMs, command));
  }
  return events;
}

function iterationEvent(
  replica: Replica,
  atMs: number,
  transition: Extract<Transition, { type: 'opened' }>,
): RawEvent {
  const { block } = replica.index.placeOf(transition.at);
  const count = replica.countAt(transition.at);
  const blockName = nameOf(replica, block);
  return toRawEvent({
    type: 'container:iteration',
    runId: replica.runId,
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

function nameOf(replica: Replica, block: string): string {
  return replica.plan.blocks[block]?.name ?? block;
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
  replica: Replica,
  atMs: number,
  command: Extract<Command, { type: 'run' | 'timer' }>,
): RawEvent {
  const { block, scope } = replica.index.placeOf(command.at);
  const dueMs = command.type === 'timer' ? command.dueMs : atMs;
  return toRawEvent({
    type: 'block:retrying',
    runId: replica.runId,
    atMs,
    blockId: block,
    blockName: nameOf(replica, block),
    scope: [...scope],
    attempt: command.try ?? 2,
    dueMs,
  });
}

function endEvent(replica: Replica, atMs: number, status: 'completed' | 'failed' | 'cancelled'): RawEvent {
  const error: RunFailure | undefined = replica.error;
  const event: RunEvent = { type: 'run:ended', runId: replica.runId, atMs, status, output: null, error };
  return { type: 'event', event, output: replica.ledger.output };
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
