import { isApiError } from '@heddle/api';
import type { AreaContext } from '@heddle/api';
import { admitRun } from '@heddle/api/areas';
import type { Release } from '@heddle/api/areas';
import type { QueuedStart } from '@heddle/api/ports';
import type { Json, JsonObject } from '@heddle/core';
import { lockHeldStart, releaseHeldRun } from '../../store/reservations.ts';
import { TimerLoop } from '../timer-loop.ts';
import { isLive, isRetryableRefusal, retryDelayMs } from '../fire.ts';
import type { FireServices, LiveTrigger } from '../fire.ts';
import { workspaceRank, withNumericTimes } from '../rows.ts';
import { countRuns, endRun, lockGroup } from './decide.ts';
import type { FlowDb } from './decide.ts';
import { flowPolicyOf } from './policy.ts';
import type { FlowPolicy } from '@heddle/engine/triggers';
import { sweepFlow } from './retention.ts';
import { markEndedRunsOfGroup } from './ended-runs.ts';
import type { FlowRunRow, HoldReason } from './tables.ts';

/** Maximum number of due runs in one query. */
const BATCH_SIZE = 100;
/**
 * Interval between checks of a run that waits for other runs to end. The process that executes the other runs checks
 * the waiting run as soon as they end.
 */
const WAIT_CHECK_MS = 1000;
/** Delay before the first retry of a refused start. It doubles with each retry, up to a minute. */
const RETRY_MS = 1000;
/** Interval between checks of a run whose trigger is paused. */
const PAUSED_CHECK_MS = 5000;
/** Delay before the next check of a run whose check has failed. */
const FAILED_CHECK_MS = 5000;
const SWEEP_INTERVAL_MS = 600_000;

type Services = Omit<FireServices, 'db'> & { db: FlowDb };

/** A due run with its trigger and flow control. */
interface DueRun {
  row: FlowRunRow;
  trigger: LiveTrigger;
  policy: FlowPolicy;
}

/** Why a run may not start now. */
interface Wait {
  reason: HoldReason | null;
  /** When the run is checked again; null: when the previous run has started. */
  nextCheckMs: number | null;
}

/** Starts the runs that flow control holds, when they may start. Several processes can share one database. */
export class FlowReleaser {
  readonly #services: Services;
  readonly #loop: TimerLoop;
  readonly #stopSweeping: () => void;

  constructor(services: Services & Pick<AreaContext, 'repeat'>) {
    const { repeat, now, onError } = services;
    this.#services = services;
    this.#loop = new TimerLoop({ repeat, now, onError, work: () => this.#startDueRuns() });
    this.#stopSweeping = repeat(SWEEP_INTERVAL_MS, () => void sweepFlow(services, now()).catch(onError));
  }

  /** Checks for due runs immediately. Call it when flow control holds another event. */
  checkNow(): void {
    this.#loop.checkNow();
  }

  async close(): Promise<void> {
    this.#stopSweeping();
    await this.#loop.close();
  }

  async #startDueRuns(): Promise<number | undefined> {
    for (;;) {
      const rows = await this.#findDueRuns();
      let changedCount = 0;
      for (const row of rows) {
        if (this.#loop.isClosed) return undefined;
        if (await this.#handle(row)) changedCount += 1;
      }
      if (changedCount === 0) break;
    }
    return this.#findEarliestDueMs();
  }

  /** Returns due runs. Workspaces take turns, so that a burst of one does not delay the others. */
  async #findDueRuns(): Promise<FlowRunRow[]> {
    const { db, now } = this.#services;
    const rows = await db
      .with('due', (query) =>
        query
          .selectFrom('flow_runs')
          .selectAll()
          .select(workspaceRank('look_ms', 'seq'))
          .where('look_ms', '<=', now()),
      )
      .selectFrom('due')
      .selectAll()
      .orderBy('turn')
      .orderBy('look_ms')
      .limit(BATCH_SIZE)
      .execute();
    return rows.map(({ turn: _turn, ...row }) => row);
  }

  async #findEarliestDueMs(): Promise<number | undefined> {
    const row = await this.#services.db
      .selectFrom('flow_runs')
      .select('look_ms')
      .where('look_ms', 'is not', null)
      .orderBy('look_ms')
      .limit(1)
      .executeTakeFirst();
    return row?.look_ms == null ? undefined : Number(row.look_ms);
  }

  /**
   * Handles a due run. If that fails, the run waits, so that it does not delay other runs. Returns false if another
   * process has changed the run.
   */
  async #handle(row: FlowRunRow): Promise<boolean> {
    try {
      return await this.#decide(row);
    } catch (error) {
      this.#services.onError(error);
      return this.#hold(row, { reason: row.reason, nextCheckMs: this.#services.now() + FAILED_CHECK_MS });
    }
  }

  /** Starts the run, ends it, or makes it wait. Returns false if another process has changed the run. */
  async #decide(row: FlowRunRow): Promise<boolean> {
    const { now } = this.#services;
    const trigger = await this.#findTrigger(row);
    if (!trigger) return this.#end(row, 'undeployed', UNDEPLOYED_MESSAGE);
    if (trigger.state !== 'active')
      return this.#hold(row, { reason: 'paused', nextCheckMs: now() + PAUSED_CHECK_MS });
    const policy = flowPolicyOf(JSON.parse(trigger.config) as JsonObject) ?? { scope: 'trigger' };
    const dueRun = { row, trigger, policy };
    if (policy.singleton === 'cancel') {
      if (await hasLaterRun(this.#services.db, row)) return this.#end(row, 'singleton', REPLACED_MESSAGE);
      await this.#cancelActiveRuns(row);
    }
    const wait = await this.#determineWait(dueRun);
    return wait ? this.#hold(row, wait) : this.#admit(dueRun);
  }

  /**
   * Returns why the run may not start now; undefined if it may. If the run waits for other runs, first records which of
   * them have ended.
   */
  async #determineWait(dueRun: DueRun): Promise<Wait | undefined> {
    const wait = await this.#findWait(this.#services.db, dueRun);
    if (wait?.reason !== 'concurrency' && wait?.reason !== 'singleton') return wait;
    await markEndedRunsOfGroup(this.#services, dueRun.row.group_id);
    return this.#findWait(this.#services.db, dueRun);
  }

  /** Returns the trigger of a run; undefined if no live version has it. */
  async #findTrigger({ workflow_id, block_id }: FlowRunRow): Promise<LiveTrigger | undefined> {
    const row = await this.#services.db
      .selectFrom('triggers')
      .innerJoin('workflows', (join) =>
        join
          .onRef('workflows.id', '=', 'triggers.workflow_id')
          .onRef('workflows.active_version', '=', 'triggers.version'),
      )
      .selectAll('triggers')
      .where('triggers.workflow_id', '=', workflow_id)
      .where('triggers.block_id', '=', block_id)
      .where('workflows.archived_at', 'is', null)
      .executeTakeFirst();
    const trigger = row && withNumericTimes(row);
    return trigger && isLive(trigger) ? trigger : undefined;
  }

  async #cancelActiveRuns({ group_id: groupId }: FlowRunRow): Promise<void> {
    const { engine, queue } = this.#services;
    for (const runId of await markEndedRunsOfGroup(this.#services, groupId)) {
      if (await queue.remove(runId, { reason: 'CANCELLED', message: REPLACED_MESSAGE })) continue;
      await engine.cancel(runId, REPLACED_MESSAGE);
    }
  }

  /** Returns why the run may not start now; undefined if it may. */
  async #findWait(db: FlowDb, { row, policy }: DueRun): Promise<Wait | undefined> {
    const nowMs = this.#services.now();
    if (await hasEarlierRun(db, row)) return { reason: null, nextCheckMs: null };
    const limit = policy.singleton === undefined ? policy.concurrency : 1;
    if (limit !== undefined && (await countRuns(db, row.group_id, ['active'])) >= limit) {
      const reason = policy.singleton === undefined ? 'concurrency' : 'singleton';
      return { reason, nextCheckMs: nowMs + WAIT_CHECK_MS };
    }
    const { throttle } = policy;
    if (!throttle) return undefined;
    const oldestStartMs = await findOldestStart(db, row, throttle.limit);
    const nextCheckMs = oldestStartMs === undefined ? -Infinity : oldestStartMs + throttle.ms;
    return nextCheckMs > nowMs ? { reason: 'throttle', nextCheckMs } : undefined;
  }

  async #admit(dueRun: DueRun): Promise<boolean> {
    const { row } = dueRun;
    const { run_id: runId, workflow_id: workflowId, workspace_id: workspaceId, attempts } = row;
    const request = { runId, workflowId, workspaceId, userId: null, mode: 'async' } as const;
    let release: Release | undefined;
    try {
      release = await admitRun(this.#services, request, workspaceId);
    } catch (error) {
      if (!isApiError(error)) throw error;
      if (!isRetryableRefusal(error)) return this.#end(row, 'limits', error.message);
      const nextCheckMs = this.#services.now() + retryDelayMs(RETRY_MS, attempts);
      return this.#hold(row, { reason: 'limits', nextCheckMs }, attempts + 1);
    }
    return this.#start(dueRun, release);
  }

  /** Starts the run, in one transaction, if nothing has changed in the meantime. */
  async #start(dueRun: DueRun, release: Release | undefined): Promise<boolean> {
    const { db, queue } = this.#services;
    const {
      run_id: runId,
      workflow_id: workflowId,
      workspace_id: workspaceId,
      group_id: groupId,
    } = dueRun.row;
    let start: QueuedStart | undefined;
    try {
      start = await db.transaction().execute((tx) => this.#recordStart(tx, dueRun));
    } finally {
      if (!start) release?.();
    }
    if (!start) return false;
    const onEnd = (): void => {
      release?.();
      void this.#wakeGroup(groupId).catch(this.#services.onError);
    };
    queue.submit({ engineRunId: runId, runId, workflowId, workspaceId, start, release: onEnd });
    return true;
  }

  /** Records the start of the run, and returns what to start; undefined if the run may not start now. */
  async #recordStart(tx: FlowDb, dueRun: DueRun): Promise<QueuedStart | undefined> {
    const { row, trigger, policy } = dueRun;
    const { run_id: runId, group_id: groupId } = row;
    const nowMs = this.#services.now();
    await lockGroup(tx, groupId, nowMs);
    if (!(await isUnchanged(tx, row)) || (await this.#findWait(tx, dueRun))) return undefined;
    const heldStart = await lockHeldStart(tx, runId);
    if (!heldStart) {
      await endRun(tx, runId, { reason: 'cancelled', nowMs });
      await wakeNextRun(tx, groupId, nowMs);
      return undefined;
    }
    const start = {
      ...heldStart,
      version: trigger.engine_version,
      input: await findInput(tx, runId, heldStart),
    };
    await releaseHeldRun(tx, runId, { start });
    const isCounted = policy.concurrency !== undefined || policy.singleton !== undefined;
    await tx
      .updateTable('flow_runs')
      .set({ state: isCounted ? 'active' : 'ended', reason: null, look_ms: null, started_ms: nowMs })
      .where('run_id', '=', runId)
      .execute();
    await tx
      .updateTable('flow_events')
      .set({ state: 'started', reason: null, decided_ms: nowMs, input: null })
      .where('run_id', '=', runId)
      .where('state', '=', 'waiting')
      .execute();
    await wakeNextRun(tx, groupId, nowMs);
    return start;
  }

  /** Records that the run failed before its start, with `message`, and drops its events. */
  async #end(row: FlowRunRow, reason: string, message: string): Promise<boolean> {
    const nowMs = this.#services.now();
    const { run_id: runId, group_id: groupId } = row;
    return this.#services.db.transaction().execute(async (tx) => {
      await lockGroup(tx, groupId, nowMs);
      if (!(await isUnchanged(tx, row))) return false;
      await releaseHeldRun(tx, runId, { failure: { reason: 'CANCELLED', message } });
      await endRun(tx, runId, { reason, nowMs });
      await wakeNextRun(tx, groupId, nowMs);
      return true;
    });
  }

  /** Makes the run wait until its next check. It collects no more events. */
  async #hold(row: FlowRunRow, { reason, nextCheckMs }: Wait, attempts = row.attempts): Promise<boolean> {
    const nowMs = this.#services.now();
    return this.#services.db.transaction().execute(async (tx) => {
      await lockGroup(tx, row.group_id, nowMs);
      if (!(await isUnchanged(tx, row))) return false;
      // The previous run may have started in the meantime. Then it does not wake this run.
      const look_ms = nextCheckMs ?? ((await hasEarlierRun(tx, row)) ? null : nowMs);
      await tx
        .updateTable('flow_runs')
        .set({ state: 'held', reason, look_ms, attempts })
        .where('run_id', '=', row.run_id)
        .execute();
      return true;
    });
  }

  /** Makes the next run of the group due when a run of the group has ended. */
  async #wakeGroup(groupId: string): Promise<void> {
    if (this.#loop.isClosed) return;
    const { db, now } = this.#services;
    await wakeNextRun(db, groupId, now());
    this.checkNow();
  }
}

const UNDEPLOYED_MESSAGE = 'The trigger was undeployed before its flow control started the run.';
const REPLACED_MESSAGE = 'A later event of the trigger has replaced the run.';

/** Returns whether the run is unchanged since it was read. */
async function isUnchanged(db: FlowDb, { run_id, state, look_ms }: FlowRunRow): Promise<boolean> {
  const row = await db
    .selectFrom('flow_runs')
    .select('run_id')
    .where('run_id', '=', run_id)
    .where('state', '=', state)
    .where('look_ms', '=', look_ms)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns whether an earlier run of the group waits. */
async function hasEarlierRun(db: FlowDb, { group_id, seq }: FlowRunRow): Promise<boolean> {
  return hasHeldRun(db, group_id, (query) => query.where('seq', '<', seq));
}

async function hasLaterRun(db: FlowDb, { group_id, seq }: FlowRunRow): Promise<boolean> {
  return hasHeldRun(db, group_id, (query) => query.where('seq', '>', seq));
}

/** Selects the earliest waiting run of the group. */
function selectHeldRun(db: FlowDb, groupId: string) {
  return db
    .selectFrom('flow_runs')
    .select('run_id')
    .where('group_id', '=', groupId)
    .where('state', '=', 'held')
    .orderBy('seq')
    .limit(1);
}

async function hasHeldRun(
  db: FlowDb,
  groupId: string,
  narrow: (query: ReturnType<typeof selectHeldRun>) => ReturnType<typeof selectHeldRun>,
): Promise<boolean> {
  return (await narrow(selectHeldRun(db, groupId)).executeTakeFirst()) !== undefined;
}

/** Returns when the earliest of the last `limit` runs of the group was started; undefined if fewer were started. */
async function findOldestStart(
  db: FlowDb,
  { group_id }: FlowRunRow,
  limit: number,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('flow_runs')
    .select('started_ms')
    .where('group_id', '=', group_id)
    .where('started_ms', 'is not', null)
    .orderBy('started_ms', 'desc')
    .limit(1)
    .offset(limit - 1)
    .executeTakeFirst();
  return row?.started_ms == null ? undefined : Number(row.started_ms);
}

/** Makes the earliest waiting run of the group due. */
async function wakeNextRun(db: FlowDb, groupId: string, nowMs: number): Promise<void> {
  await db
    .updateTable('flow_runs')
    .set({ look_ms: nowMs })
    .where('run_id', 'in', selectHeldRun(db, groupId))
    .execute();
}

/** Returns the input of the run: the input of its event, or the inputs of its batch. */
async function findInput(db: FlowDb, runId: string, { input }: QueuedStart): Promise<Json> {
  const rows = await db
    .selectFrom('flow_events')
    .select('input')
    .where('run_id', '=', runId)
    .where('position', 'is not', null)
    .orderBy('position')
    .execute();
  if (rows.length === 0) return input;
  return { events: rows.map((row) => JSON.parse(row.input ?? 'null') as Json) };
}
