import PQueue from 'p-queue';
import { isEngineError } from '@heddle/core';
import type { Engine, RunHandle } from '@heddle/engine';
import { isRunIdTaken, refusalOf } from '../../engine-errors.ts';
import { engineIds } from './ids.ts';
import { redactedMessage } from './redacted-message.ts';
import type { AcceptedRun, ReservationStore } from './store.ts';

/** How many accepted runs are started at once. */
const AT_ONCE = 16;
const UNAVAILABLE = 503;

interface Submitted extends AcceptedRun {
  /** Called when the run has ended, waits for a person, or has not come about. */
  leave?: (() => void) | undefined;
}

/** Starts accepted runs. What was accepted is recorded, so that a process that dies leaves it to the next one. */
export class RunQueue {
  readonly #engine: Engine;
  readonly #reservations: ReservationStore;
  readonly #report: (error: unknown) => void;
  readonly #starts = new PQueue({ concurrency: AT_ONCE });
  /** Ids of the runs whose turn has not come. */
  readonly #submitted = new Set<string>();
  #closed = false;

  constructor(parts: { engine: Engine; reservations: ReservationStore; report: (error: unknown) => void }) {
    this.#engine = parts.engine;
    this.#reservations = parts.reservations;
    this.#report = parts.report;
  }

  /**
   * Starts what was accepted before that time, by any process, and not started. Several processes may try: the engine
   * starts a run once.
   */
  async recover(before?: string): Promise<void> {
    if (this.#closed) return;
    for (const accepted of await this.#reservations.unstarted(before))
      if (!this.#submitted.has(accepted.engineId)) this.submit(accepted);
  }

  /** Starts the run when its turn has come. */
  submit(accepted: Submitted): void {
    this.#submitted.add(accepted.engineId);
    this.#starts
      .add(() => this.#start(accepted))
      .catch(this.#report)
      .finally(() => this.#submitted.delete(accepted.engineId));
  }

  /** Starts nothing more; what was not started is at the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#starts.clear();
    await this.#starts.onIdle();
  }

  async #start(accepted: Submitted): Promise<void> {
    if (this.#closed) return;
    const { leave } = accepted;
    const run = await this.#begin(accepted).catch((error: unknown) => {
      leave?.();
      throw error;
    });
    // What goes wrong with the run later is in its record.
    if (leave) void (run?.result() ?? Promise.resolve()).then(leave, leave);
  }

  /** The run, where it was begun here. */
  async #begin(accepted: AcceptedRun): Promise<RunHandle | undefined> {
    const { engineId } = accepted;
    const run = await this.#engineStart(accepted);
    if (run === 'failed') return undefined;
    if (await this.#reservations.settle(engineId)) return run;
    // It was taken back while it was being started.
    const claim = await this.#reservations.find(engineId);
    if (claim?.failure != null) await this.#engine.cancel(engineId, 'It was cancelled before it began.');
    return run;
  }

  async #engineStart(accepted: AcceptedRun): Promise<RunHandle | 'failed' | undefined> {
    const { workflowId, waiting } = accepted;
    const { input, version, ownsFiles = false, ...more } = waiting;
    const options = { ...engineIds(accepted), version, olderFiles: !ownsFiles, ...more };
    try {
      return await this.#engine.start(workflowId, input, options);
    } catch (error) {
      // Else another process has started it, or this one before it died.
      if (isRunIdTaken(error)) return undefined;
      await this.#fail(accepted, error);
      return 'failed';
    }
  }

  async #fail({ engineId, workflowId, waiting: { version } }: AcceptedRun, error: unknown): Promise<void> {
    const refusal = refusalOf(error);
    if (!refusal) this.#report(error);
    // The engine or its database is away for now: the run is started later.
    if (refusal?.status === UNAVAILABLE) return;
    const invalid = isEngineError(error) && error.code === 'INPUT_INVALID';
    // What is no refusal can name a database, or a file: callers are not shown it.
    const said = refusal?.message ?? 'The run could not be started.';
    const message = await redactedMessage(this.#engine, workflowId, said, { version });
    await this.#reservations.settle(engineId, {
      reason: invalid ? 'INVALID_INPUT' : 'EXECUTION_FAILED',
      message,
    });
  }
}
