import type { NewReservation, QueuedStart } from '@heddle/api/ports';
import type { Json } from '@heddle/core';
import type { Kysely } from 'kysely';
import { addQueuedRun, updateHeldStart, lockHeldStart } from '../../store/reservations.ts';
import { hashGroupId, keyOf } from './policy.ts';
import type { FlowPolicy } from '@heddle/engine/triggers';
import type { FlowEventRow, FlowRunRow, FlowTables, HoldReason } from './tables.ts';

export type FlowDb = Kysely<FlowTables>;

/** An event of a trigger with flow control, with the run that it may start. */
export interface FlowEvent {
  /** Unique among all events. */
  id: string;
  /** The id of the run, if the event starts one. */
  runId: string;
  workspaceId: string;
  workflowId: string;
  blockId: string;
  source: FlowEventRow['source'];
  /** The kind of trigger that is recorded for the run. */
  trigger: NewReservation['trigger'];
  policy: FlowPolicy;
  start: QueuedStart;
  receivedMs: number;
}

/** The decision of flow control: the event waits for its run to start, or starts no run. */
export interface FlowDecision {
  /** The run that the event starts; for a dropped event, the run that caused the drop. */
  runId: string;
  state: 'waiting' | 'dropped';
  reason: string;
}

/** Maximum number of bytes of the inputs in one batch. */
const MAX_BATCH_BYTES = 5 * 1024 * 1024;

/** Returns the id of the event's group: the events that share the limits of flow control. */
export function groupIdOf({ policy, start, workflowId, blockId }: FlowEvent): string {
  return hashGroupId(policy, { workflowId, blockId, key: keyOf(policy, start.input) });
}

/**
 * Decides what an event starts, in the transaction that stores the event. A run for the event is reserved and held
 * until the releaser starts it. Call `prepareEvent` before the transaction.
 */
export async function decideEvent(db: FlowDb, event: FlowEvent): Promise<FlowDecision> {
  const groupId = groupIdOf(event);
  const seq = await lockGroup(db, groupId, event.receivedMs);
  const dropCause = await findDropCause(db, event, groupId);
  if (dropCause) {
    await addEvent(db, event, { run_id: dropCause.runId, state: 'dropped', reason: dropCause.reason });
    return { ...dropCause, state: 'dropped' };
  }
  const decision = await joinRun(db, event, groupId);
  return decision ?? holdRun(db, event, { groupId, seq });
}

/**
 * Locks the row of the group until the transaction ends, and increments its `last_seq`. Returns the new value, which is
 * the `seq` of the run that the transaction adds, if any.
 */
export async function lockGroup(db: FlowDb, id: string, nowMs: number): Promise<number> {
  const { last_seq: seq } = await db
    .insertInto('flow_groups')
    .values({ id, last_seq: 1, touched_ms: nowMs })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        last_seq: eb('flow_groups.last_seq', '+', 1),
        touched_ms: nowMs,
      })),
    )
    .returning('last_seq')
    .executeTakeFirstOrThrow();
  return Number(seq);
}

/** Returns why the event starts no run, and the run that is the cause; undefined if the event may start a run. */
async function findDropCause(
  db: FlowDb,
  { policy, receivedMs }: FlowEvent,
  groupId: string,
): Promise<{ runId: string; reason: string } | undefined> {
  const { singleton, throttle } = policy;
  if (singleton === 'skip') {
    const lastRunId = await findLastRunId(db, groupId, ['collecting', 'held', 'active']);
    if (lastRunId !== undefined) return { runId: lastRunId, reason: 'singleton' };
  }
  if (throttle?.excess !== 'drop') return undefined;
  const waitingCount = await countRuns(db, groupId, ['collecting', 'held']);
  const startedCount = await countStartsSince(db, groupId, receivedMs - throttle.ms);
  if (waitingCount + startedCount < throttle.limit) return undefined;
  const lastRunId = await findLastRunId(db, groupId, ['collecting', 'held', 'active', 'ended']);
  return lastRunId === undefined ? undefined : { runId: lastRunId, reason: 'throttle' };
}

async function findLastRunId(
  db: FlowDb,
  groupId: string,
  states: readonly FlowRunRow['state'][],
): Promise<string | undefined> {
  const row = await db
    .selectFrom('flow_runs')
    .select('run_id')
    .where('group_id', '=', groupId)
    .where('state', 'in', states)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.run_id;
}

/** Returns the number of runs of a group in these states. */
export async function countRuns(
  db: FlowDb,
  groupId: string,
  states: readonly FlowRunRow['state'][],
): Promise<number> {
  const { count } = await db
    .selectFrom('flow_runs')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('group_id', '=', groupId)
    .where('state', 'in', states)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns the number of runs of a group that have started after `afterMs`. */
async function countStartsSince(db: FlowDb, groupId: string, afterMs: number): Promise<number> {
  const { count } = await db
    .selectFrom('flow_runs')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('group_id', '=', groupId)
    .where('started_ms', '>', afterMs)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Adds the event to the collecting run of the group. Returns undefined if there is none, or it accepts no event. */
async function joinRun(db: FlowDb, event: FlowEvent, groupId: string): Promise<FlowDecision | undefined> {
  const run = await db
    .selectFrom('flow_runs')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('state', '=', 'collecting')
    .executeTakeFirst();
  if (!run) return undefined;
  if ((await lockHeldStart(db, run.run_id)) === undefined) {
    // A caller has cancelled the run.
    await endRun(db, run.run_id, { reason: 'cancelled', nowMs: event.receivedMs });
    return undefined;
  }
  if (!canAccept(run, event)) {
    await closeRun(db, run.run_id, event.receivedMs);
    return undefined;
  }
  if (run.reason === 'debounce') await replaceEvent(db, event, run);
  else await appendEvent(db, event, run);
  return { runId: run.run_id, state: 'waiting', reason: run.reason ?? 'batch' };
}

/**
 * Returns whether a run can accept the event. A run that is due accepts no event, even if the releaser has not handled
 * the run yet.
 */
function canAccept({ reason, look_ms, bytes }: FlowRunRow, event: FlowEvent): boolean {
  const { batch, debounce } = event.policy;
  if (event.receivedMs >= Number(look_ms)) return false;
  if (reason === 'debounce') return debounce !== undefined;
  return batch !== undefined && Number(bytes) + bytesOf(event.start.input) <= MAX_BATCH_BYTES;
}

/** Closes the run to further events, so that it starts as soon as the limits allow it. */
async function closeRun(db: FlowDb, runId: string, nowMs: number): Promise<void> {
  await db
    .updateTable('flow_runs')
    .set({ state: 'held', reason: null, look_ms: nowMs })
    .where('run_id', '=', runId)
    .execute();
}

/** Replaces the previous event of the run by this event. */
async function replaceEvent(db: FlowDb, event: FlowEvent, { run_id, until_ms }: FlowRunRow): Promise<void> {
  const { receivedMs, policy, start } = event;
  await db
    .updateTable('flow_events')
    .set({ state: 'merged', reason: 'debounce', decided_ms: receivedMs })
    .where('run_id', '=', run_id)
    .where('state', '=', 'waiting')
    .execute();
  await addEvent(db, event, { run_id, state: 'waiting', reason: 'debounce' });
  await updateHeldStart(db, run_id, start);
  const { ms } = policy.debounce ?? { ms: 0 };
  await db
    .updateTable('flow_runs')
    .set((eb) => ({
      look_ms: Math.min(receivedMs + ms, Number(until_ms)),
      events: eb('events', '+', 1),
      bytes: bytesOf(start.input),
    }))
    .where('run_id', '=', run_id)
    .execute();
}

async function appendEvent(
  db: FlowDb,
  event: FlowEvent,
  { run_id, events, bytes }: FlowRunRow,
): Promise<void> {
  const position = events + 1;
  await addEvent(db, event, { run_id, state: 'waiting', reason: 'batch', position });
  await db
    .updateTable('flow_runs')
    .set({ events: position, bytes: Number(bytes) + bytesOf(event.start.input) })
    .where('run_id', '=', run_id)
    .execute();
  if (position >= (event.policy.batch?.size ?? 0)) await closeRun(db, run_id, event.receivedMs);
}

/** Reserves a run for the event, and holds it. */
async function holdRun(
  db: FlowDb,
  event: FlowEvent,
  { groupId, seq }: { groupId: string; seq: number },
): Promise<FlowDecision> {
  const { runId, workspaceId, workflowId, blockId, policy, start, receivedMs, trigger } = event;
  const createdAt = new Date(receivedMs).toISOString();
  const ids = { engineRunId: runId, runId, workflowId, workspaceId };
  await addQueuedRun(db, { ...ids, trigger, mode: 'async', createdAt }, start, { isHeld: true });
  const collectingRunColumns = collectingColumns(policy, receivedMs);
  const hasHeldPredecessor = !collectingRunColumns && (await countRuns(db, groupId, ['held'])) > 0;
  const heldColumns = {
    state: 'held',
    reason: null,
    look_ms: hasHeldPredecessor ? null : receivedMs,
    until_ms: null,
  } as const;
  await db
    .insertInto('flow_runs')
    .values({
      ...{ run_id: runId, group_id: groupId, seq, workspace_id: workspaceId, workflow_id: workflowId },
      ...{ block_id: blockId, events: 1, bytes: bytesOf(start.input), attempts: 0 },
      ...{ created_ms: receivedMs, started_ms: null, ...(collectingRunColumns ?? heldColumns) },
    })
    .execute();
  const reason = collectingRunColumns?.reason ?? 'queue';
  const position = policy.batch ? { position: 1 } : {};
  await addEvent(db, event, { run_id: runId, state: 'waiting', reason, ...position });
  return { runId, state: 'waiting', reason };
}

/** Returns the columns of a run that collects events; undefined for a policy without debounce or batch. */
function collectingColumns({ debounce, batch }: FlowPolicy, nowMs: number) {
  const window = debounce ?? batch;
  if (!window) return undefined;
  const reason: HoldReason = debounce ? 'debounce' : 'batch';
  const until_ms = nowMs + (debounce?.maxMs ?? window.ms);
  return { state: 'collecting', reason, look_ms: nowMs + window.ms, until_ms } as const;
}

async function addEvent(
  db: FlowDb,
  { id, workspaceId, workflowId, blockId, source, policy, start, receivedMs }: FlowEvent,
  outcome: Pick<FlowEventRow, 'run_id' | 'state' | 'reason'> & { position?: number },
): Promise<void> {
  const { position = null } = outcome;
  await db
    .insertInto('flow_events')
    .values({
      ...{ id, workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId, source },
      ...{ key: keyOf(policy, start.input), ...outcome, position },
      ...{ bytes: bytesOf(start.input), received_ms: receivedMs },
      input: position === null ? null : JSON.stringify(start.input),
      decided_ms: outcome.state === 'waiting' ? null : receivedMs,
    })
    .execute();
}

/** Ends a run that has not started, and drops its events. */
export async function endRun(
  db: FlowDb,
  runId: string,
  { reason, nowMs }: { reason: string; nowMs: number },
): Promise<void> {
  await db
    .updateTable('flow_runs')
    .set({ state: 'ended', look_ms: null })
    .where('run_id', '=', runId)
    .execute();
  await db
    .updateTable('flow_events')
    .set({ state: 'dropped', reason, decided_ms: nowMs, input: null })
    .where('run_id', '=', runId)
    .where('state', '=', 'waiting')
    .execute();
}

function bytesOf(input: Json): number {
  return Buffer.byteLength(JSON.stringify(input));
}
