import PQueue from 'p-queue';
import { isEngineError } from '@heddle/core';
import type { Engine, RunHandle } from '@heddle/engine';
import { isRunIdTaken } from '../../engine-errors.ts';
import type { ClaimStore, Waiting } from './store.ts';

/** How many accepted runs are started at once. */
const AT_ONCE = 16;

interface Accepted {
  runId: string;
  workflowId: string;
  waiting: Waiting;
  /** Called when the run has ended, waits for a person, or has not come about. */
  leave?: (() => void) | undefined;
}

/** Starts accepted runs. What was accepted is recorded, so that a process that dies leaves it to the next one. */
export class RunQueue {
  readonly #engine: Engine;
  readonly #claims: ClaimStore;
  readonly #report: (error: unknown) => void;
  readonly #starts = new PQueue({ concurrency: AT_ONCE });
  /** Ids of the runs whose turn has not come. */
  readonly #submitted = new Set<string>();
  #closed = false;

  constructor(parts: { engine: Engine; claims: ClaimStore; report: (error: unknown) => void }) {
    this.#engine = parts.engine;
    this.#claims = parts.claims;
    this.#report = parts.report;
  }

  /**
   * Starts what was accepted before that time, by any process, and not started. Several processes may try: the engine
   * starts a run once.
   */
  async takeUp(before?: string): Promise<void> {
    if (this.#closed) return;
    for (const accepted of await this.#claims.waiting(before))
      if (!this.#submitted.has(accepted.runId)) this.submit(accepted);
  }

  /** Starts the run when its turn has come. */
  submit(accepted: Accepted): void {
    this.#submitted.add(accepted.runId);
    this.#starts
      .add(() => this.#start(accepted))
      .catch(this.#report)
      .finally(() => this.#submitted.delete(accepted.runId));
  }

  /** Starts nothing more; what was not started is at the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#starts.clear();
    await this.#starts.onIdle();
  }

  async #start(accepted: Accepted): Promise<void> {
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
  async #begin({ runId, workflowId, waiting }: Accepted): Promise<RunHandle | undefined> {
    const run = await this.#engineStart({ runId, workflowId, waiting });
    if (run === 'failed') return undefined;
    if (await this.#claims.settled(runId)) return run;
    // It was taken back while it was being started.
    const claim = await this.#claims.find(runId);
    if (claim?.failure != null) await this.#engine.cancel(runId, 'It was cancelled before it began.');
    return run;
  }

  async #engineStart({ runId, workflowId, waiting }: Accepted): Promise<RunHandle | 'failed' | undefined> {
    const { input, version, timeoutMs } = waiting;
    const timeout = timeoutMs === undefined ? {} : { timeoutMs };
    try {
      return await this.#engine.start(workflowId, input, { runId, version, ...timeout });
    } catch (error) {
      // Else another process has started it, or this one before it died.
      if (isRunIdTaken(error)) return undefined;
      await this.#fail(runId, error);
      return 'failed';
    }
  }

  async #fail(runId: string, error: unknown): Promise<void> {
    if (!isEngineError(error)) this.#report(error);
    // The engine may be open again later: nothing has come of it yet.
    if (isEngineError(error) && error.code === 'ENGINE_CLOSED') return;
    const invalid = isEngineError(error) && error.code === 'INPUT_INVALID';
    const message = error instanceof Error ? error.message : String(error);
    await this.#claims.settled(runId, { reason: invalid ? 'INVALID_INPUT' : 'EXECUTION_FAILED', message });
  }
}
