import { randomUUID } from 'node:crypto';
import { EngineError } from '@heddle/core';
import type { Json, RunRecord } from '@heddle/core';
import { isEnded, pointClosed, RemoteRuns, runNotFound } from '@heddle/engine/runtime';
import type { LiveRun, Recorded, RunRequest, RuntimeParts, RuntimePort } from '@heddle/engine/runtime';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { chunkOf } from '../chunk.ts';
import { hashOf } from '../hash.ts';
import { CANCEL_SIGNAL, RESUME_UPDATE } from '../messages.ts';
import type { CancelMessage, Profile, ResumeMessage } from '../messages.ts';
import { expectFit, runInputOf } from '../run-input.ts';
import { refused } from './launcher.ts';
import type { Launcher } from './launcher.ts';
import { Rests } from './rests.ts';

/** Why a run is cancelled whose caller's signal was aborted. */
const ABORTED = 'The caller aborted.';

interface ClientParts {
  runtime: RuntimeParts;
  client: Client;
  launcher: Launcher;
  profile: Profile;
}

/** Runs on a Temporal server: an engine's half of the runtime. */
export class TemporalRuntime implements RuntimePort {
  private readonly parts: ClientParts;
  private readonly runs: RemoteRuns;
  private readonly rests: Rests;

  constructor(parts: ClientParts) {
    this.parts = parts;
    this.runs = new RemoteRuns(parts.runtime);
    this.rests = new Rests(async (runId) => parts.runtime.stores.runs.record(runId));
  }

  async start(request: RunRequest): Promise<LiveRun> {
    const { runId, signal, plan } = request;
    expectFit(plan);
    const recorded = await this.runs.record(request);
    // R29: who cancels before the start has no block run, not even for a moment.
    const cancel = signal?.aborted ? await this.cancelMessage(runId, ABORTED) : undefined;
    await this.launch(recorded, cancel);
    if (signal) this.cancelWith(signal, runId);
    return this.live(runId, 1);
  }

  /** Starts a run that is recorded. One that the server did not take says so in its record, and others start it later. */
  private async launch({ plan, header, first }: Recorded, cancel?: CancelMessage): Promise<void> {
    try {
      await this.parts.launcher.start(runInputOf(plan, header, first, this.parts.profile), cancel);
      if (cancel) await this.showCancelled(header.runId);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      await this.runs.stand(
        header.runId,
        `The run is recorded and was not started: ${why} It starts when a worker or an engine of its deployment is opened that reaches the server.`,
      );
      throw error;
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
    return this.parts.client.workflow.getHandle(runId);
  }

  async open(runId: string): Promise<LiveRun | undefined> {
    const record = await this.runs.find(runId);
    if (!record || isEnded(record.status)) return undefined;
    await this.runs.expectRemote(runId);
    return this.live(runId, record.seq);
  }

  record(runId: string): Promise<RunRecord | undefined> {
    return this.runs.find(runId);
  }

  async saved(): Promise<void> {
    // Workers write as they go: what is not stored is not known here either.
  }

  async resume(runId: string, given: { token?: string; input?: Json }): Promise<void> {
    await this.runs.expectRemote(runId);
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
    { token, at, entry, seq }: NonNullable<Awaited<ReturnType<RemoteRuns['answer']>>>,
  ) {
    const tokenHash = hashOf(token);
    const chunk = await chunkOf(this.parts.runtime.values, [entry]);
    const message: ResumeMessage = {
      at,
      tokenHash,
      atMs: entry.atMs,
      id: `resumed:${tokenHash}`,
      chunk,
      seq,
    };
    try {
      const reached = await this.handle(runId).executeUpdate<number, [ResumeMessage]>(RESUME_UPDATE, {
        args: [message],
        // The same answer twice is the same update.
        updateId: tokenHash,
      });
      if (reached === 0) throw pointClosed(runId);
      return reached;
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError && isRefusal(error.cause)) throw pointClosed(runId);
      if (error instanceof WorkflowNotFoundError)
        throw new EngineError('RUN_ENDED', `Run ${runId} has ended: nothing in it waits for a person.`);
      throw error instanceof EngineError ? error : refused(error);
    }
  }

  async cancel(runId: string, reason: string | undefined): Promise<boolean> {
    const record = await this.runs.find(runId);
    if (!record) throw runNotFound(runId);
    if (isEnded(record.status)) return false;
    await this.runs.expectRemote(runId);
    const isOpen = await this.signalCancel(runId, reason);
    const isChild = !isOpen && (await this.cancelUnstarted(record, reason));
    await this.handle(runId)
      .result()
      .catch(() => undefined);
    // Its workflow has failed on a fault, was terminated, or is gone with its server.
    if (!isOpen && !isChild) await this.runs.abandon(runId, reason);
    return (await this.runs.find(runId))?.status === 'cancelled';
  }

  /** False: the server has no such workflow that is open. */
  private async signalCancel(runId: string, reason: string | undefined): Promise<boolean> {
    try {
      await this.handle(runId).signal(CANCEL_SIGNAL, await this.cancelMessage(runId, reason));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw refused(error);
    }
    await this.showCancelled(runId);
    return true;
  }

  /** The server shows as cancelled only a workflow that it was asked to cancel itself. The signal before ends the run. */
  private async showCancelled(runId: string): Promise<void> {
    try {
      await this.handle(runId).cancel();
    } catch (error) {
      // The run has ended meanwhile.
      if (!(error instanceof WorkflowNotFoundError)) throw refused(error);
    }
  }

  /** A run that was recorded and never started is started with its cancel, so that it ends like any other. True: its parent is to start it. */
  private async cancelUnstarted({ runId, seq }: RunRecord, reason: string | undefined): Promise<boolean> {
    const recorded = seq <= 1 ? await this.runs.recorded(runId) : undefined;
    if (recorded?.header.parent) return true;
    if (recorded) await this.launch(recorded, await this.cancelMessage(runId, reason));
    return false;
  }

  private async cancelMessage(runId: string, reason: string | undefined): Promise<CancelMessage> {
    const { clock, values } = this.parts.runtime;
    const atMs = clock.now();
    const said = reason === undefined ? {} : { reason: await this.runs.redacted(runId, reason) };
    const entry = { atMs, type: 'cancelled', ...said };
    return {
      atMs,
      id: `cancelled:${randomUUID()}`,
      chunk: await values.keep([entry]),
      announced: true,
    };
  }
}

function isRefusal(cause: unknown): boolean {
  return cause instanceof ApplicationFailure && cause.type === 'RESUME_POINT_CLOSED';
}
