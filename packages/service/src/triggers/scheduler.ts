import type { AreaContext } from '@heddle/api';
import { isApiError } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import { TimerLoop } from './timer-loop.ts';
import { decideDueRuns, jitterOf } from './due-runs.ts';
import type { DueDecision } from './due-runs.ts';
import { admitDueRun, claimDueTimes, isRetryableRefusal, queueDueRuns, retryDelayMs } from './fire.ts';
import type { AdmittedRun, FireServices, LiveTrigger } from './fire.ts';
import { findDueTriggers, findEarliestDueMs } from './due-triggers.ts';
import type { DueTrigger } from './due-triggers.ts';
import { shortenMessage, healthAfterStart } from './health.ts';
import { createTriggerAdvancer } from './advance.ts';
import { stateOfRun } from './run-state.ts';
import type { LastRunState } from './run-state.ts';
import type { TriggerRow } from './tables.ts';
import type { ScheduleType } from './types.ts';

/** Maximum number of triggers in one transaction. */
const BATCH_SIZE = 100;
/** Maximum number of triggers in one query. It is large, because each query sorts all due triggers. */
const READ_LIMIT = 1000;
/** Interval between checks of a due time that waits for the previous run to end. */
const OVERLAP_CHECK_MS = 2000;
/** Delay before the first retry of a failed start. It doubles with each retry. */
const RETRY_MS = 2000;

/** The change of a trigger whose due time has been reached, and the runs that it starts. */
interface PreparedUpdate {
  trigger: LiveTrigger;
  runs: readonly AdmittedRun[];
  change: Partial<TriggerRow>;
}

export interface SchedulerOptions extends FireServices {
  repeat: AreaContext['repeat'];
  types: ReadonlyMap<string, ScheduleType>;
  /** Reports that events wait for flow control. */
  notifyEventsWaiting: () => void;
}

/** Starts the runs of triggers when they are due. Several processes can share one database. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #loop: TimerLoop;
  readonly #advance = createTriggerAdvancer();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#loop = new TimerLoop({ ...options, work: () => this.#startDueRuns() });
  }

  /** Checks the triggers again. Call it when one of them has changed. */
  wake(): void {
    this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #startDueRuns(): Promise<number | undefined> {
    const { db, types, now } = this.#options;
    for (;;) {
      const dueTriggers = await findDueTriggers(db, { types, nowMs: now(), limit: READ_LIMIT });
      let advancedCount = 0;
      for (let start = 0; start < dueTriggers.length && !this.#loop.isClosed; start += BATCH_SIZE) {
        const batch = dueTriggers.slice(start, start + BATCH_SIZE);
        const updates = await Promise.all(batch.map((trigger) => this.#prepareUpdate(trigger)));
        advancedCount += await this.#queueRuns(updates);
      }
      // If none was advanced, another process has handled all of them, and it handles the next ones too.
      if (dueTriggers.length < READ_LIMIT || advancedCount === 0 || this.#loop.isClosed) break;
    }
    return findEarliestDueMs(db, { types });
  }

  /**
   * Decides about the due time of a trigger, and admits its runs. A trigger that cannot be handled now is retried
   * later.
   */
  async #prepareUpdate(trigger: DueTrigger): Promise<PreparedUpdate> {
    try {
      return await this.#decide(trigger);
    } catch (error) {
      this.#options.onError(error);
      const times = { dueMs: trigger.due_ms, nowMs: this.#options.now() };
      return { trigger, runs: [], change: retryColumns(trigger, times, 'The run could not be started.') };
    }
  }

  async #decide(trigger: DueTrigger): Promise<PreparedUpdate> {
    const type = this.#options.types.get(trigger.type);
    if (!type) throw new TypeError(`There is no type of trigger "${trigger.type}".`);
    const nowMs = this.#options.now();
    const config = JSON.parse(trigger.config) as JsonObject;
    const jitterMs = jitterOf(type, config, trigger);
    const { last_run_id: runId } = trigger;
    const lastRunState: LastRunState =
      runId === null ? { isInProgress: false, isUnknown: true } : await stateOfRun(this.#options, runId);
    const decision = decideDueRuns({
      ...{ type, config, jitterMs, nowMs, dueMs: trigger.due_ms },
      ...{ holdReason: trigger.held, isInProgress: lastRunState.isInProgress },
    });
    if ('heldDueMs' in decision) {
      const fire_ms = nowMs + OVERLAP_CHECK_MS;
      const change = { due_ms: decision.heldDueMs, held: 'overlap', fire_ms, last_check_ms: nowMs } as const;
      return { trigger, runs: [], change };
    }
    return this.#admit(trigger, { type, decision, jitterMs, lastRunState, nowMs });
  }

  async #admit(
    trigger: LiveTrigger,
    context: {
      type: ScheduleType;
      decision: Exclude<DueDecision, { heldDueMs: number }>;
      jitterMs: number;
      lastRunState: LastRunState;
      nowMs: number;
    },
  ): Promise<PreparedUpdate> {
    const { type, decision, jitterMs, lastRunState, nowMs } = context;
    const { firedDueMs, nextMs = null } = decision;
    const runs: AdmittedRun[] = [];
    let refusal: string | undefined;
    for (const dueMs of firedDueMs) {
      try {
        runs.push(await admitDueRun(this.#options, { trigger, type, dueMs }));
      } catch (error) {
        if (!isApiError(error)) {
          for (const { release } of runs) release?.();
          throw error;
        }
        if (isRetryableRefusal(error)) {
          const change = retryColumns(trigger, { dueMs, nowMs }, error.message);
          return { trigger, runs, change: { ...change, ...firedColumns(runs, nowMs) } };
        }
        refusal = error.message;
        break;
      }
    }
    const nextColumns = { due_ms: nextMs, fire_ms: nextMs === null ? null : nextMs + jitterMs };
    const change = {
      ...nextColumns,
      held: null,
      attempts: 0,
      last_check_ms: nowMs,
      ...firedColumns(runs, nowMs),
    };
    return {
      trigger,
      runs,
      change: { ...change, ...healthAfterStart(trigger, { lastRunState, refusal, nowMs }) },
    };
  }

  /**
   * Claims the due times and queues their runs, in one transaction. Skips due times that another process has
   * claimed. Returns the number of advanced triggers.
   */
  async #queueRuns(updates: readonly PreparedUpdate[]): Promise<number> {
    if (updates.length === 0) return 0;
    let advancedCount = 0;
    const queuedRuns = new Set<AdmittedRun>();
    const admittedRuns = updates.flatMap(({ runs }) => runs);
    try {
      const { db } = this.#options;
      await db.transaction().execute(async (tx) => {
        const advancedRuns: AdmittedRun[] = [];
        for (const update of updates) {
          if (!(await this.#advance(tx, update))) continue;
          advancedCount += 1;
          advancedRuns.push(...update.runs);
        }
        // In a fixed order, so that transactions of several processes cannot deadlock.
        advancedRuns.sort((a, b) => (a.trigger.workflow_id < b.trigger.workflow_id ? -1 : 1));
        const nowMs = this.#options.now();
        const claimedRuns = await claimDueTimes(tx, advancedRuns, nowMs);
        for (const run of await queueDueRuns(tx, claimedRuns, nowMs)) queuedRuns.add(run);
      });
    } catch (error) {
      queuedRuns.clear();
      throw error;
    } finally {
      for (const run of admittedRuns) if (!queuedRuns.has(run)) run.release?.();
    }
    for (const { run, release } of queuedRuns) this.#options.queue.submit({ ...run, release });
    if (admittedRuns.some(({ flowEvent }) => flowEvent)) this.#options.notifyEventsWaiting();
    return advancedCount;
  }
}

/** Returns the columns that change when these runs are started. */
function firedColumns(runs: readonly AdmittedRun[], nowMs: number): Partial<TriggerRow> {
  const lastRun = runs.at(-1);
  return lastRun
    ? { last_run_id: lastRun.run.engineRunId, last_due_ms: lastRun.dueMs, last_fired_ms: nowMs }
    : {};
}

/** Returns the columns that postpone the due time, by a delay that doubles with each attempt. */
function retryColumns(
  { attempts }: TriggerRow,
  { dueMs, nowMs }: { dueMs: number; nowMs: number },
  message: string,
): Partial<TriggerRow> {
  return {
    ...{
      due_ms: dueMs,
      fire_ms: nowMs + retryDelayMs(RETRY_MS, attempts),
      held: 'limits',
      attempts: attempts + 1,
    },
    ...{ last_check_ms: nowMs, last_error: shortenMessage(message) },
  };
}
