import { randomUUID } from 'node:crypto';
import { EngineError, isEngineError } from '@heddle/core';
import type { Json, RunRecord } from '@heddle/core';
import { isEnded, pausePointClosedError, RemoteRuns, runNotFoundError } from '@heddle/engine/runtime';
import type {
  LiveRun,
  RecordedRun,
  StartRequest,
  RuntimeDependencies,
  RuntimePort,
} from '@heddle/engine/runtime';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { storeChunk, hashToken } from '../chunk.ts';
import { CANCEL_SIGNAL, RESUME_UPDATE } from '../messages.ts';
import type { CancelMessage, Profile, ResumeMessage } from '../messages.ts';
import { assertPlanFits, runInputOf } from '../run-input.ts';
import { serverError } from './launcher.ts';
import type { Launcher } from './launcher.ts';
import { RunWaiter } from './run-waiter.ts';

/** Reason of a cancellation by the caller's abort signal. */
const ABORT_REASON = 'The caller aborted.';

interface ClientDependencies {
  runtime: RuntimeDependencies;
  client: Client;
  launcher: Launcher;
  profile: Profile;
}

/** The client side of the runtime: starts, controls and reads runs on a Temporal server. */
export class TemporalRuntime implements RuntimePort {
  readonly #dependencies: ClientDependencies;
  readonly #runs: RemoteRuns;
  readonly #waiter: RunWaiter;

  constructor(dependencies: ClientDependencies) {
    this.#dependencies = dependencies;
    this.#runs = new RemoteRuns(dependencies.runtime);
    this.#waiter = new RunWaiter(async (runId) => dependencies.runtime.stores.runs.record(runId));
  }

  async start(request: StartRequest): Promise<LiveRun> {
    const { runId, signal, plan } = request;
    assertPlanFits(plan);
    const recordedRun = await this.#runs.recordStart(request);
    // A run that is cancelled before its start must not run any block (R29 in docs/semantics.md).
    const cancelMessage = signal?.aborted ? await this.#createCancelMessage(runId, ABORT_REASON) : undefined;
    await this.#launch(recordedRun, cancelMessage);
    if (signal) this.#cancelOnAbort(signal, runId);
    return this.#createLiveRun(runId, 1, () => this.#runs.events(runId));
  }

  /** Starts a recorded run. If that fails, the record gets the reason, and a sweeper starts the run later. */
  async #launch({ plan, header, startedEntry }: RecordedRun, cancelMessage?: CancelMessage): Promise<void> {
    try {
      const input = runInputOf(plan, header, startedEntry, this.#dependencies.profile);
      await this.#dependencies.launcher.start(input, cancelMessage);
      if (cancelMessage) await this.#requestCancellation(header.runId);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      await this.#runs.suspend(
        header.runId,
        `The run is recorded but not started: ${reason} A worker or engine of its deployment that reaches the server starts it.`,
      );
      throw error;
    }
  }

  #cancelOnAbort(signal: AbortSignal, runId: string): void {
    if (signal.aborted) return;
    const onAbort = (): void => {
      this.cancel(runId, ABORT_REASON).catch((error: unknown) =>
        this.#dependencies.runtime.onError(error, runId),
      );
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiter.waitUntilIdle(runId, 1).then(
      () => signal.removeEventListener('abort', onAbort),
      () => undefined,
    );
  }

  #createLiveRun(runId: string, seq: number, events: LiveRun['events']): LiveRun {
    return { runId, whenIdle: () => this.#waitUntilIdle(runId, seq), events };
  }

  /** Resolves when the run is paused or has ended. The server reports the end immediately; the record shows a pause. */
  async #waitUntilIdle(runId: string, seq: number): Promise<void> {
    this.#getHandle(runId)
      .result()
      .catch(() => undefined)
      .finally(() => this.#waiter.notify(runId));
    await this.#waiter.waitUntilIdle(runId, seq);
  }

  /** Ends the waits of all callers with ENGINE_CLOSED. */
  close(): void {
    this.#waiter.close();
  }

  #getHandle(runId: string): WorkflowHandle {
    return this.#dependencies.client.workflow.getHandle(runId);
  }

  async open(runId: string): Promise<LiveRun | undefined> {
    const record = await this.#runs.find(runId);
    if (!record || isEnded(record.status)) return undefined;
    await this.#runs.requireRemote(runId);
    const position = await this.#runs.position(record);
    return this.#createLiveRun(runId, record.seq, () => this.#runs.events(runId, position));
  }

  readRun(...request: Parameters<RuntimePort['readRun']>): ReturnType<RuntimePort['readRun']> {
    return this.#runs.readRun(...request);
  }

  async whenSaved(): Promise<void> {
    // Workers save their runs. This process has no unsaved state.
  }

  async resume(runId: string, request: { token?: string; input?: Json }): Promise<void> {
    await this.#runs.requireRemote(runId);
    const answer = await this.#runs.prepareResumeAnswer(runId, request);
    const parent = await this.#findParent(runId);
    const seq = answer === undefined ? 1 : await this.#submitAnswer(runId, answer);
    await this.#waitUntilIdle(runId, seq);
    // The parent's record also shows the change.
    if (answer && parent) await this.#waiter.waitUntilChanged(parent.runId, parent.seq);
  }

  async #findParent(runId: string): Promise<RunRecord | undefined> {
    const parentRunId = (await this.#runs.find(runId))?.parentRunId;
    return parentRunId === undefined ? undefined : this.#runs.find(parentRunId);
  }

  async #submitAnswer(
    runId: string,
    { token, at, entry, seq }: NonNullable<Awaited<ReturnType<RemoteRuns['prepareResumeAnswer']>>>,
  ) {
    const tokenHash = hashToken(token);
    const chunk = await storeChunk(this.#dependencies.runtime, runId, [entry]);
    const { try: attempt, resumes } = entry;
    const message: ResumeMessage = {
      at,
      ...(attempt !== undefined && { attempt }),
      ...(resumes !== undefined && { resumes }),
      tokenHash,
      atMs: entry.atMs,
      id: `resumed:${tokenHash}`,
      chunk,
      seq,
    };
    try {
      const newSeq = await this.#getHandle(runId).executeUpdate<number, [ResumeMessage]>(RESUME_UPDATE, {
        args: [message],
        // A repeated answer is the same update.
        updateId: tokenHash,
      });
      if (newSeq === 0) throw pausePointClosedError(runId);
      return newSeq;
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError && isPausePointClosed(error.cause))
        throw pausePointClosedError(runId);
      if (error instanceof WorkflowNotFoundError)
        throw new EngineError('RUN_ENDED', `Run ${runId} has ended: nothing in it can be resumed.`);
      throw isEngineError(error) ? error : serverError(error);
    }
  }

  async cancel(runId: string, reason: string | undefined): Promise<boolean> {
    const record = await this.#runs.find(runId);
    if (!record) throw runNotFoundError(runId);
    if (isEnded(record.status)) return false;
    await this.#runs.requireRemote(runId);
    const isWorkflowOpen = await this.#signalCancel(runId, reason);
    const isUnstartedChild = !isWorkflowOpen && (await this.#cancelUnstartedRun(record, reason));
    await this.#getHandle(runId)
      .result()
      .catch(() => undefined);
    // The workflow failed with an engine error, was terminated, or was lost with its server.
    if (!isWorkflowOpen && !isUnstartedChild) await this.#runs.cancelAbandonedRun(runId, reason);
    return (await this.#runs.find(runId))?.status === 'cancelled';
  }

  /** Sends the cancel signal. Returns false if the server has no open workflow of the run. */
  async #signalCancel(runId: string, reason: string | undefined): Promise<boolean> {
    try {
      await this.#getHandle(runId).signal(CANCEL_SIGNAL, await this.#createCancelMessage(runId, reason));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw serverError(error);
    }
    await this.#requestCancellation(runId);
    return true;
  }

  /**
   * Requests the workflow's cancellation, so that the server shows it as cancelled. The signal that precedes the
   * request ends the run.
   */
  async #requestCancellation(runId: string): Promise<void> {
    try {
      await this.#getHandle(runId).cancel();
    } catch (error) {
      // The run has ended in the meantime.
      if (!(error instanceof WorkflowNotFoundError)) throw serverError(error);
    }
  }

  /**
   * Starts an unstarted run with its cancel request, so that it ends like any other run. Returns true for an unstarted
   * child run, which its parent starts.
   */
  async #cancelUnstartedRun({ runId, seq }: RunRecord, reason: string | undefined): Promise<boolean> {
    const recordedRun = seq <= 1 ? await this.#runs.readStart(runId) : undefined;
    if (recordedRun?.header.parent) return true;
    if (recordedRun) await this.#launch(recordedRun, await this.#createCancelMessage(runId, reason));
    return false;
  }

  async #createCancelMessage(runId: string, reason: string | undefined): Promise<CancelMessage> {
    const { runtime } = this.#dependencies;
    const atMs = runtime.clock.now();
    const reasonField = reason === undefined ? {} : { reason: await this.#runs.redact(runId, reason) };
    return {
      atMs,
      id: `cancelled:${randomUUID()}`,
      chunk: await storeChunk(runtime, runId, [{ atMs, type: 'cancelled', ...reasonField }]),
      announced: true,
    };
  }
}

function isPausePointClosed(cause: unknown): boolean {
  return cause instanceof ApplicationFailure && cause.type === 'RESUME_POINT_CLOSED';
}
