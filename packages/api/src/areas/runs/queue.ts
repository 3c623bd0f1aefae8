import PQueue from 'p-queue';
import { isEngineError } from '@heddle/core';
import type { Engine } from '@heddle/engine';
import { isRunIdTaken } from '../../engine-errors.ts';
import type { ClaimStore, Waiting } from './store.ts';

/** How many accepted runs are started at once. */
const AT_ONCE = 16;

interface Accepted {
  runId: string;
  workflowId: string;
  waiting: Waiting;
}

/** Starts accepted runs. What was accepted is recorded, so that a process that dies leaves it to the next one. */
export class RunQueue {
  readonly #engine: Engine;
  readonly #claims: ClaimStore;
  readonly #report: (error: unknown) => void;
  readonly #starts = new PQueue({ concurrency: AT_ONCE });
  #closed = false;

  constructor(parts: { engine: Engine; claims: ClaimStore; report: (error: unknown) => void }) {
    this.#engine = parts.engine;
    this.#claims = parts.claims;
    this.#report = parts.report;
  }

  /** Starts what was accepted before and not started. */
  async takeUp(): Promise<void> {
    for (const accepted of await this.#claims.waiting()) this.submit(accepted);
  }

  /** Starts the run when its turn has come. */
  submit(accepted: Accepted): void {
    this.#starts.add(() => this.#start(accepted)).catch(this.#report);
  }

  /** Starts nothing more; what was not started is at the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#starts.clear();
    await this.#starts.onIdle();
  }

  async #start({ runId, workflowId, waiting }: Accepted): Promise<void> {
    if (this.#closed) return;
    const { input, version, timeoutMs } = waiting;
    try {
      await this.#engine.start(workflowId, input, {
        runId,
        version,
        ...(timeoutMs !== undefined && { timeoutMs }),
      });
    } catch (error) {
      if (!isRunIdTaken(error)) return this.#fail(runId, error);
      // Another process has started it, or this one before it died.
    }
    if (await this.#claims.settled(runId)) return;
    // It was taken back while it was being started.
    const claim = await this.#claims.find(runId);
    if (claim?.failure != null) await this.#engine.cancel(runId, 'It was cancelled before it began.');
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
