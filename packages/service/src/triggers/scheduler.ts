import { isApiError } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import { DueLoop } from './due-loop.ts';
import { decide, jitterOf } from './due.ts';
import type { DueDecision } from './due.ts';
import { admitDue, claimDue, isRefusedForNow, queueAllDue, retryDelayMs } from './fire.ts';
import type { AdmittedRun, FireServices, LiveTrigger } from './fire.ts';
import { dueTriggers, earliestTrigger } from './due-triggers.ts';
import type { DueTrigger } from './due-triggers.ts';
import { errorText, healthOf } from './health.ts';
import { triggerMover } from './move.ts';
import { stateOfRun } from './run-state.ts';
import type { LastRun } from './run-state.ts';
import type { TriggerRow } from './tables.ts';
import type { ScheduleType } from './types.ts';

/** Maximum number of triggers in one transaction. */
const BATCH = 100;
/** Number of triggers that are read together, because sorting all due triggers takes time. */
const READ = 1000;
/** Interval at which a waiting due instant is checked. */
const WAIT_MS = 2000;

/** The runs and the change of a trigger whose due instant has been reached. */
interface Step {
  trigger: LiveTrigger;
  runs: readonly AdmittedRun[];
  change: Partial<TriggerRow>;
}

export interface SchedulerOptions extends FireServices {
  every: (ms: number, beat: () => void) => () => void;
  types: ReadonlyMap<string, ScheduleType>;
  /** Reports that events wait for flow control. */
  held: () => void;
}

/** Starts the runs of triggers when they are due. Several processes can share one database. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #loop: DueLoop;
  readonly #move = triggerMover();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#loop = new DueLoop({ ...options, work: () => this.#startDue() });
  }

  /** Checks the triggers again. Call it when one of them has changed. */
  wake(): void {
    this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #startDue(): Promise<number | undefined> {
    const { db, types, now } = this.#options;
    for (;;) {
      const due = await dueTriggers(db, { types, nowMs: now(), limit: READ });
      let moved = 0;
      for (let from = 0; from < due.length && !this.#loop.isClosed; from += BATCH) {
        const batch = due.slice(from, from + BATCH);
        moved += await this.#take(await Promise.all(batch.map((trigger) => this.#stepOf(trigger))));
      }
      // If none was advanced, another process has handled all of them, and it handles the next ones too.
      if (due.length < READ || moved === 0 || this.#loop.isClosed) break;
    }
    return earliestTrigger(db, { types });
  }

  /** Decides about the due instant of a trigger, and admits its runs. A trigger that cannot be handled now is retried later. */
  async #stepOf(trigger: DueTrigger): Promise<Step> {
    try {
      return await this.#decided(trigger);
    } catch (error) {
      this.#options.report(error);
      const at = { dueMs: trigger.due_ms, nowMs: this.#options.now() };
      return { trigger, runs: [], change: waiting(trigger, at, 'The run could not be started.') };
    }
  }

  async #decided(trigger: DueTrigger): Promise<Step> {
    const type = this.#options.types.get(trigger.type);
    if (!type) throw new TypeError(`There is no type of trigger "${trigger.type}".`);
    const nowMs = this.#options.now();
    const config = JSON.parse(trigger.config) as JsonObject;
    const jitterMs = jitterOf(type, config, trigger);
    const { last_run_id: runId } = trigger;
    const last: LastRun =
      runId === null ? { isBusy: false, isUnknown: true } : await stateOfRun(this.#options, runId);
    const decision = decide({
      ...{ type, config, jitterMs, nowMs, dueMs: trigger.due_ms },
      ...{ held: trigger.held, isBusy: last.isBusy },
    });
    if ('waits' in decision) {
      const change = { due_ms: decision.waits, held: 'overlap', fire_ms: nowMs + WAIT_MS } as const;
      return { trigger, runs: [], change: { ...change, last_check_ms: nowMs } };
    }
    return this.#admitted(trigger, { type, decision, jitterMs, last, nowMs });
  }

  async #admitted(
    trigger: LiveTrigger,
    given: {
      type: ScheduleType;
      decision: Exclude<DueDecision, { waits: number }>;
      jitterMs: number;
      last: LastRun;
      nowMs: number;
    },
  ): Promise<Step> {
    const { type, decision, jitterMs, last, nowMs } = given;
    const { fire, nextMs = null } = decision;
    const runs: AdmittedRun[] = [];
    let refused: string | undefined;
    for (const dueMs of fire) {
      try {
        runs.push(await admitDue(this.#options, { trigger, type, dueMs }));
      } catch (error) {
        if (!isApiError(error)) {
          for (const { release } of runs) release?.();
          throw error;
        }
        if (isRefusedForNow(error)) {
          const change = waiting(trigger, { dueMs, nowMs }, error.message);
          return { trigger, runs, change: { ...change, ...fired(runs, nowMs) } };
        }
        refused = error.message;
        break;
      }
    }
    const next = { due_ms: nextMs, fire_ms: nextMs === null ? null : nextMs + jitterMs };
    const change = { ...next, held: null, attempts: 0, last_check_ms: nowMs, ...fired(runs, nowMs) };
    return { trigger, runs, change: { ...change, ...healthOf(trigger, { last, refused, nowMs }) } };
  }

  /**
   * Claims the due instants and queues their runs, in one transaction. Due instants that another process has claimed are left
   * out. Returns the number of advanced triggers.
   */
  async #take(steps: readonly Step[]): Promise<number> {
    if (steps.length === 0) return 0;
    let moved = 0;
    const queued = new Set<AdmittedRun>();
    const all = steps.flatMap(({ runs }) => runs);
    try {
      const { db } = this.#options;
      await db.transaction().execute(async (tx) => {
        const taken: AdmittedRun[] = [];
        for (const step of steps) {
          if (!(await this.#move(tx, step))) continue;
          moved += 1;
          taken.push(...step.runs);
        }
        // In a fixed order, so that transactions of several processes cannot deadlock.
        taken.sort((a, b) => (a.trigger.workflow_id < b.trigger.workflow_id ? -1 : 1));
        const nowMs = this.#options.now();
        const claimed = await claimDue(tx, taken, nowMs);
        for (const run of await queueAllDue(tx, claimed, nowMs)) queued.add(run);
      });
    } catch (error) {
      queued.clear();
      throw error;
    } finally {
      for (const run of all) if (!queued.has(run)) run.release?.();
    }
    for (const { run, release } of queued) this.#options.queue.submit({ ...run, release });
    if (all.some(({ held }) => held)) this.#options.held();
    return moved;
  }
}

/** Returns the columns that the started runs change. */
function fired(runs: readonly AdmittedRun[], nowMs: number): Partial<TriggerRow> {
  const last = runs.at(-1);
  return last ? { last_run_id: last.run.engineId, last_due_ms: last.dueMs, last_fired_ms: nowMs } : {};
}

/** Returns the change that retries the due instant later, with a delay that grows each time. */
function waiting(
  { attempts }: TriggerRow,
  { dueMs, nowMs }: { dueMs: number; nowMs: number },
  message: string,
): Partial<TriggerRow> {
  return {
    ...{
      due_ms: dueMs,
      fire_ms: nowMs + retryDelayMs(WAIT_MS, attempts),
      held: 'limits',
      attempts: attempts + 1,
    },
    ...{ last_check_ms: nowMs, last_error: errorText(message) },
  };
}
