import { randomUUID } from 'node:crypto';
import { EngineError } from '@heddle/core';
import type { Json, RunRecord } from '@heddle/core';
import { isEnded, pointClosed, RemoteRuns, runNotFound } from '@heddle/engine/runtime';
import type { LiveRun, RunRequest, RuntimeParts, RuntimePort } from '@heddle/engine/runtime';
import {
  Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { hashOf } from '../hash.ts';
import { CANCEL_SIGNAL, RESUME_UPDATE, RUN_WORKFLOW } from '../messages.ts';
import type { CancelMessage, Profile, ResumeMessage, RunInput } from '../messages.ts';
import { runInputOf } from '../run-input.ts';
import { Rests } from './rests.ts';

/** Why a run is cancelled whose caller's signal was aborted. */
const ABORTED = 'The caller aborted.';

interface ClientParts {
  runtime: RuntimeParts;
  connection: NativeConnection;
  namespace: string;
  taskQueue: string;
  profile: Profile;
}

/** Runs on a Temporal server: an engine's half of the runtime. */
export class TemporalRuntime implements RuntimePort {
  private readonly parts: ClientParts;
  private readonly client: Client;
  private readonly runs: RemoteRuns;
  private readonly rests: Rests;

  constructor(parts: ClientParts) {
    this.parts = parts;
    const { connection, namespace } = parts;
    this.client = new Client({ connection, namespace });
    this.runs = new RemoteRuns(parts.runtime);
    this.rests = new Rests((runId) => this.runs.find(runId));
  }

  async start(request: RunRequest): Promise<LiveRun> {
    const { runId, signal } = request;
    const { plan } = request;
    const { header, first } = await this.runs.record(request);
    const input = runInputOf(plan, header, first, this.parts.profile);
    // R29: who cancels before the start has no block run, not even for a moment.
    await this.launch(input, signal?.aborted ? await this.cancelMessage(ABORTED) : undefined);
    if (signal) this.cancelWith(signal, runId);
    return this.live(runId, 1);
  }

  private async launch(input: RunInput, cancel: CancelMessage | undefined): Promise<void> {
    const { workflow } = this.client;
    const options = {
      workflowId: input.runId,
      taskQueue: this.parts.taskQueue,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      args: [input],
    } as const;
    try {
      if (cancel)
        await workflow.signalWithStart(RUN_WORKFLOW, {
          ...options,
          signal: CANCEL_SIGNAL,
          signalArgs: [cancel],
        });
      else await workflow.start(RUN_WORKFLOW, options);
    } catch (error) {
      // Somebody has taken up a run that was recorded and not started.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw unreachable(error);
    }
  }

  private cancelWith(signal: AbortSignal, runId: string): void {
    if (signal.aborted) return;
    const cancel = (): void => {
      this.cancel(runId, ABORTED).catch((error: unknown) => this.parts.runtime.report(error, runId));
    };
    signal.addEventListener('abort', cancel, { once: true });
    this.rests.until(runId, 1).then(
      () => signal.removeEventListener('abort', cancel),
      () => undefined,
    );
  }

  private live(runId: string, seq: number): LiveRun {
    return {
      runId,
      rested: () => this.rested(runId, seq),
      events: () => this.runs.events(runId),
    };
  }

  /** The end of a workflow is told by the server at once; a rest within it is found in the record. */
  private async rested(runId: string, seq: number): Promise<void> {
    this.handle(runId)
      .result()
      .catch(() => undefined)
      .finally(() => this.rests.ring(runId));
    await this.rests.until(runId, seq);
  }

  private handle(runId: string): WorkflowHandle {
    return this.client.workflow.getHandle(runId);
  }

  async open(runId: string): Promise<LiveRun | undefined> {
    const record = await this.runs.find(runId);
    return record && !isEnded(record.status) ? this.live(runId, record.seq) : undefined;
  }

  record(runId: string): Promise<RunRecord | undefined> {
    return this.runs.find(runId);
  }

  async saved(): Promise<void> {
    // Workers write as they go: what is not stored is not known here either.
  }

  async resume(runId: string, given: { token?: string; input?: Json }): Promise<void> {
    const answer = await this.runs.answer(runId, given);
    const parent = await this.parentOf(runId);
    const seq = answer === undefined ? 1 : await this.submit(runId, answer);
    await this.rested(runId, seq);
    // What waits for the run has heard of it too.
    if (answer && parent) await this.rests.moved(parent.runId, parent.seq);
  }

  private async parentOf(runId: string): Promise<RunRecord | undefined> {
    const parentRunId = (await this.runs.find(runId))?.parentRunId;
    return parentRunId === undefined ? undefined : this.runs.find(parentRunId);
  }

  private async submit(
    runId: string,
    { token, at, entry }: NonNullable<Awaited<ReturnType<RemoteRuns['answer']>>>,
  ) {
    const tokenHash = hashOf(token);
    const chunk = await this.parts.runtime.values.keep([entry] as never);
    const message: ResumeMessage = { at, tokenHash, atMs: entry.atMs, id: `resumed:${tokenHash}`, chunk };
    try {
      const seq = await this.handle(runId).executeUpdate<number, [ResumeMessage]>(RESUME_UPDATE, {
        args: [message],
        // The same answer twice is the same update.
        updateId: tokenHash,
      });
      if (seq === 0) throw pointClosed(runId);
      return seq;
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError && isRefusal(error.cause)) throw pointClosed(runId);
      if (error instanceof WorkflowNotFoundError)
        throw new EngineError('RUN_ENDED', `Run ${runId} has ended: nothing in it waits for a person.`);
      throw error instanceof EngineError ? error : unreachable(error);
    }
  }

  async cancel(runId: string, reason: string | undefined): Promise<boolean> {
    const record = await this.runs.find(runId);
    if (!record) throw runNotFound(runId);
    if (isEnded(record.status)) return false;
    try {
      await this.handle(runId).signal(CANCEL_SIGNAL, await this.cancelMessage(reason));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw unreachable(error);
    }
    await this.handle(runId)
      .result()
      .catch(() => undefined);
    return (await this.runs.find(runId))?.status === 'cancelled';
  }

  private async cancelMessage(reason: string | undefined): Promise<CancelMessage> {
    const { clock, values, keeper } = this.parts.runtime;
    const atMs = clock.now();
    const entry = { atMs, type: 'cancelled', ...(reason !== undefined && { reason: keeper.text(reason) }) };
    return { atMs, id: `cancelled:${randomUUID()}`, chunk: await values.keep([entry]) };
  }
}

function isRefusal(cause: unknown): boolean {
  return cause instanceof ApplicationFailure && cause.type === 'RESUME_POINT_CLOSED';
}

function unreachable(error: unknown): EngineError {
  const message = error instanceof Error ? error.message : String(error);
  return new EngineError('RUNTIME_UNREACHABLE', `The Temporal server did not take it: ${message}`, {
    cause: error,
  });
}
