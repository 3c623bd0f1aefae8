import { v7 as createId } from 'uuid';
import { isApiError } from '@heddle/api';
import type { AreaContext } from '@heddle/api';
import type { Json, JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import { TimerLoop } from '../timer-loop.ts';
import { findDueTriggers, findEarliestDueMs } from '../due-triggers.ts';
import type { DueTrigger } from '../due-triggers.ts';
import { asyncTimeout, isLive, retryDelayMs } from '../fire.ts';
import type { FireServices, LiveTrigger } from '../fire.ts';
import { decideEvent } from '../flow/decide.ts';
import type { FlowEvent } from '../flow/decide.ts';
import { flowPolicyOf } from '../flow/policy.ts';
import { prepareEvent } from '../flow/ended-runs.ts';
import { advanceTrigger } from '../advance.ts';
import { workspaceRank, withNumericTimes } from '../rows.ts';
import type { EventRule } from '@heddle/engine/triggers';
import type { EventTriggerType } from '../types.ts';
import { isConditionMet, eventKindOf } from './conditions.ts';
import { inputOf } from './payload.ts';
import type { EventSubject } from './payload.ts';
import { findInactiveWorkflows, INACTIVITY_CHECK_INTERVAL_MS } from './inactivity.ts';
import { loadContext } from './subject.ts';
import type { EventContext } from './subject.ts';
import type { EventTables, ServiceEventRow } from './tables.ts';

type Db = Kysely<EventTables>;

/** Maximum number of events or triggers in one query. */
const BATCH_SIZE = 100;
/** Delay before the first retry of an event, in milliseconds. It doubles with each retry, up to a minute. */
const RETRY_MS = 2000;
/** Events that could not be handled for this many milliseconds are dropped. */
const DROP_AFTER_MS = 24 * 3_600_000;
/** Interval at which ended cooldowns are deleted. */
const SWEEP_INTERVAL_MS = 600_000;

export interface DispatcherOptions extends Omit<FireServices, 'db'>, Pick<AreaContext, 'repeat'> {
  db: Db;
  types: ReadonlyMap<string, EventTriggerType>;
  /** Called when events wait for flow control. */
  notifyEventsWaiting: () => void;
}

/** An event trigger with its rule. */
interface Watcher {
  trigger: LiveTrigger;
  rule: EventRule;
}

/** A run that an event starts. When it is stored, the cooldown of the rule begins. */
interface Firing {
  watcher: Watcher;
  /** The id of the workflow or credential to which the cooldown applies. */
  sourceId: string;
  /** The event with which flow control starts the run. */
  flowEvent: FlowEvent;
}

/**
 * Starts the runs of event triggers. An event is removed in the transaction that stores its runs, so a crash neither
 * loses nor duplicates a run. Any number of processes can share a database.
 */
export class EventDispatcher {
  readonly #options: DispatcherOptions;
  readonly #loop: TimerLoop;
  readonly #stopSweeping: () => void;

  constructor(options: DispatcherOptions) {
    const { repeat, now, onError } = options;
    this.#options = options;
    this.#loop = new TimerLoop({ repeat, now, onError, work: () => this.#dispatchDueEvents() });
    this.#stopSweeping = repeat(SWEEP_INTERVAL_MS, () => void this.#sweep().catch(onError));
  }

  /** Checks again at the next tick. Call it when triggers have changed. */
  wake(): void {
    this.#loop.wake();
  }

  async close(): Promise<void> {
    this.#stopSweeping();
    await this.#loop.close();
  }

  async #dispatchDueEvents(): Promise<number | undefined> {
    const { db, types, now } = this.#options;
    for (;;) {
      let handledCount = 0;
      for (const event of await this.#findDueEvents()) {
        if (this.#loop.isClosed) return undefined;
        if (await this.#dispatch(event)) handledCount += 1;
      }
      // Triggers that check for workflows without runs.
      for (const trigger of await findDueTriggers(db as never, { types, nowMs: now(), limit: BATCH_SIZE })) {
        if (this.#loop.isClosed) return undefined;
        if (await this.#checkInactivity(trigger)) handledCount += 1;
      }
      if (handledCount === 0) return this.#findEarliestDueMs();
    }
  }

  /** Returns due events, one of each workspace in turn, so that no workspace delays another. */
  async #findDueEvents(): Promise<ServiceEventRow[]> {
    const { db, now } = this.#options;
    const rows = await db
      .with('due', (query) =>
        query
          .selectFrom('service_events')
          .selectAll()
          .select(workspaceRank('happened_ms', 'id'))
          .where('look_ms', '<=', now()),
      )
      .selectFrom('due')
      .selectAll()
      .orderBy('turn')
      .orderBy('happened_ms')
      .limit(BATCH_SIZE)
      .execute();
    return rows.map(({ turn: _turn, ...row }) => ({ ...row, happened_ms: Number(row.happened_ms) }));
  }

  async #findEarliestDueMs(): Promise<number | undefined> {
    const { db, types } = this.#options;
    const event = await db
      .selectFrom('service_events')
      .select((eb) => eb.fn.min('look_ms').as('ms'))
      .executeTakeFirst();
    const checkDueMs = await findEarliestDueMs(db as never, { types });
    const times = [event?.ms, checkDueMs].filter((ms) => ms != null).map(Number);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /**
   * Stores the runs that the event starts. Returns false if another process has stored them, or the event is retried.
   */
  async #dispatch(event: ServiceEventRow): Promise<boolean> {
    try {
      const context = await loadContext(this.#options, event);
      const firings = context ? await this.#prepareFirings(event, context) : [];
      return await this.#store(firings, (tx) => removeEvent(tx, event));
    } catch (error) {
      if (!isApiError(error)) this.#options.onError(error);
      return this.#retryOrDrop(event, isApiError(error) ? error.message : 'The event could not be handled.');
    }
  }

  async #prepareFirings(event: ServiceEventRow, { run, loadSubject }: EventContext): Promise<Firing[]> {
    const { db } = this.#options;
    const sourceId = event.workflow_id ?? event.subject_id ?? '';
    const firings: Firing[] = [];
    for (const watcher of await this.#findWatchers(event)) {
      const { trigger, rule } = watcher;
      if (!isWatching(watcher, event) || (await isCoolingDown(db, trigger, sourceId, this.#options.now())))
        continue;
      if (run && !(await isConditionMet(db, rule, run))) continue;
      firings.push(await this.#prepareFiring(watcher, sourceId, await loadSubject()));
    }
    return firings;
  }

  /** Returns the active event triggers that were deployed when the event was recorded, in a fixed order. */
  async #findWatchers({ workspace_id, recorded_ms }: ServiceEventRow): Promise<Watcher[]> {
    const rows = await selectActiveTriggers(this.#options)
      .innerJoin('event_watchers', 'event_watchers.workflow_id', 'triggers.workflow_id')
      .where('triggers.workspace_id', '=', workspace_id)
      .where('event_watchers.since_ms', '<=', recorded_ms)
      .orderBy('triggers.workflow_id')
      .orderBy('triggers.block_id')
      .execute();
    return rows.map(withNumericTimes).flatMap((row) => this.#watcherOf(row) ?? []);
  }

  #watcherOf(row: ReturnType<typeof withNumericTimes>): Watcher | undefined {
    const type = this.#options.types.get(row.type);
    if (!type || !isLive(row)) return undefined;
    return { trigger: row, rule: type.ruleOf(JSON.parse(row.config) as JsonObject) };
  }

  /** Prepares the run of a rule. Throws 429 if too many events of the workspace wait. */
  async #prepareFiring({ trigger, rule }: Watcher, sourceId: string, subject: EventSubject): Promise<Firing> {
    const { engine, timeouts, now, db } = this.#options;
    const { workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId } = trigger;
    const version = trigger.engine_version;
    const input = await engine.redact(workflowId, inputOf(rule, subject) as Json, { version });
    const flowEvent: FlowEvent = {
      ...{ id: createId(), runId: createId(), workspaceId, workflowId, blockId },
      ...{ source: 'event', trigger: 'event', receivedMs: now() },
      policy: flowPolicyOf(JSON.parse(trigger.config) as JsonObject) ?? { scope: 'trigger' },
      start: { input, version, start: blockId, ...asyncTimeout(timeouts) },
    };
    await prepareEvent({ ...this.#options, db: db as never }, flowEvent);
    return { watcher: { trigger, rule }, sourceId, flowEvent };
  }

  /** Stores the runs in one transaction, if `claim` succeeds in it. */
  async #store(firings: readonly Firing[], claim: (tx: Db) => Promise<boolean>): Promise<boolean> {
    const { db, notifyEventsWaiting, now } = this.#options;
    const isClaimed = await db.transaction().execute(async (tx) => {
      if (!(await claim(tx))) return false;
      for (const firing of firings) await storeFiring(tx, firing, now());
      return true;
    });
    if (isClaimed && firings.length > 0) notifyEventsWaiting();
    return isClaimed;
  }

  /**
   * Schedules another attempt to handle the event, or drops the event if it is too old. Returns whether the event was
   * dropped.
   */
  async #retryOrDrop(
    { id, attempts, happened_ms, workspace_id }: ServiceEventRow,
    reason: string,
  ): Promise<boolean> {
    const { db, now, types } = this.#options;
    if (now() - happened_ms < DROP_AFTER_MS) {
      const look_ms = now() + retryDelayMs(RETRY_MS, attempts);
      const change = { look_ms, attempts: attempts + 1 };
      await db.updateTable('service_events').set(change).where('id', '=', id).execute();
      return false;
    }
    await db.deleteFrom('service_events').where('id', '=', id).execute();
    await db
      .updateTable('triggers')
      .set({ last_error: `An event was dropped after a day. ${reason}`, last_check_ms: now() })
      .where('workspace_id', '=', workspace_id)
      .where('type', 'in', [...types.keys()])
      .execute();
    return true;
  }

  /**
   * Stores the runs that start because other workflows have had no run. Returns false if another process has stored
   * them.
   */
  async #checkInactivity(trigger: DueTrigger): Promise<boolean> {
    const { now, onError } = this.#options;
    const nowMs = now();
    let firings: Firing[] = [];
    try {
      const watcher = this.#watcherOf(trigger);
      if (watcher?.rule.event === 'no_activity')
        firings = await this.#prepareInactivityFirings(watcher, watcher.rule);
    } catch (error) {
      // Too many events wait, or another temporary failure: the next check finds the same workflows.
      if (!isApiError(error)) onError(error);
    }
    const change = {
      due_ms: nowMs + INACTIVITY_CHECK_INTERVAL_MS,
      fire_ms: nowMs + INACTIVITY_CHECK_INTERVAL_MS,
      last_check_ms: nowMs,
    };
    return this.#store(firings, (tx) => advanceTrigger(tx as never, { trigger, change }));
  }

  async #prepareInactivityFirings(
    watcher: Watcher,
    rule: EventRule & { event: 'no_activity' },
  ): Promise<Firing[]> {
    const { db, now } = this.#options;
    const workflows = await findInactiveWorkflows(db, { ...watcher, rule }, now());
    const firings: Firing[] = [];
    for (const workflow of workflows)
      firings.push(await this.#prepareFiring(watcher, workflow.id, { happenedMs: now(), workflow }));
    return firings;
  }

  async #sweep(): Promise<void> {
    const { db, now } = this.#options;
    await db.deleteFrom('event_cooldowns').where('until_ms', '<=', now()).execute();
  }
}

/** Selects the active event triggers of live versions. */
function selectActiveTriggers({ db, types }: Pick<DispatcherOptions, 'db' | 'types'>) {
  return db
    .selectFrom('triggers')
    .innerJoin('workflows', (join) =>
      join
        .onRef('workflows.id', '=', 'triggers.workflow_id')
        .onRef('workflows.active_version', '=', 'triggers.version'),
    )
    .selectAll('triggers')
    .where('triggers.type', 'in', [...types.keys()])
    .where('triggers.state', '=', 'active')
    .where('workflows.archived_at', 'is', null);
}

/** Returns whether the trigger watches the source of the event. A workflow does not watch itself. */
function isWatching({ trigger, rule }: Watcher, event: ServiceEventRow): boolean {
  if (eventKindOf(rule) !== event.kind || trigger.workflow_id === event.workflow_id) return false;
  const { workflowIds } = rule;
  return event.workflow_id === null || workflowIds.length === 0 || workflowIds.includes(event.workflow_id);
}

async function removeEvent(db: Db, { id }: ServiceEventRow): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('service_events').where('id', '=', id).executeTakeFirst();
  return numDeletedRows > 0n;
}

async function isCoolingDown(
  db: Db,
  { workflow_id, block_id }: LiveTrigger,
  sourceId: string,
  nowMs: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('event_cooldowns')
    .select('until_ms')
    .where('workflow_id', '=', workflow_id)
    .where('block_id', '=', block_id)
    .where('source_id', '=', sourceId)
    .where('until_ms', '>', nowMs)
    .executeTakeFirst();
  return row !== undefined;
}

/** Stores the run, unless the rule has fired for the source since the check. */
async function storeFiring(tx: Db, { watcher, sourceId, flowEvent }: Firing, nowMs: number): Promise<void> {
  const { trigger } = watcher;
  if (!(await beginCooldown(tx, { watcher, sourceId, nowMs }))) return;
  const decision = await decideEvent(tx as never, flowEvent);
  await tx
    .updateTable('triggers')
    .set({ last_fired_ms: nowMs, last_check_ms: nowMs, last_run_id: decision.runId, last_error: null })
    .where('id', '=', trigger.id)
    .where('version', '=', trigger.version)
    .execute();
}

/**
 * Begins the cooldown. Returns false if a cooldown has not ended. No other process can begin one until the transaction
 * ends.
 */
async function beginCooldown(
  tx: Db,
  { watcher, sourceId, nowMs }: { watcher: Watcher; sourceId: string; nowMs: number },
): Promise<boolean> {
  const { trigger, rule } = watcher;
  const cooldownMs = rule.event === 'no_activity' ? Math.max(rule.cooldownMs, rule.ms) : rule.cooldownMs;
  if (cooldownMs === 0) return true;
  const key = { workflow_id: trigger.workflow_id, block_id: trigger.block_id, source_id: sourceId };
  const until_ms = nowMs + cooldownMs;
  const row = await tx
    .insertInto('event_cooldowns')
    .values({ ...key, until_ms })
    .onConflict((conflict) =>
      conflict
        .columns(['workflow_id', 'block_id', 'source_id'])
        .doUpdateSet({ until_ms })
        .where('event_cooldowns.until_ms', '<=', nowMs),
    )
    .returning('source_id')
    .executeTakeFirst();
  return row !== undefined;
}
