import { EngineError } from '@heddle/core';
import type { Clock, EngineErrorCode, Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { polls } from '../../clock.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { readRun } from '../../records/read-run.ts';
import type { LiveRun } from '../../runtime-port.ts';
import { waitForOutcome } from '../../store/control.ts';
import type { NewControlRequest, RequestStore } from '../../store/control.ts';
import { isIdle, isEnded } from '../../store/journal.ts';
import { isHeldByAnother } from '../../store/leases.ts';
import type { RunEvent } from '../../types.ts';
import { eventsAfter, currentPosition } from '../../records/follow.ts';
import type { EventPosition } from '../../records/follow.ts';

/** Duration of the wait for an outcome before this process tries again to own the run. */
const OUTCOME_WAIT_MS = 1000;

interface PeerRunsOptions {
  runtime: Pick<RuntimeDependencies, 'stores' | 'values' | 'definitions' | 'environments' | 'onError'>;
  requests: RequestStore;
  /** Clock for polling other processes: the system clock, even if runs use another one. */
  clock: Clock;
}

/** Runs that other processes own: reads them from the stores, and sends requests to their owners. */
export class PeerRuns {
  readonly #options: PeerRunsOptions;
  #isClosed = false;

  constructor(options: PeerRunsOptions) {
    this.#options = options;
  }

  /** Returns the run as seen from this process; undefined if it has ended. */
  async open(runId: string): Promise<LiveRun | undefined> {
    const { record } = (await readRun(this.#options.runtime, runId, { withLogs: false })) ?? {};
    if (!record || isEnded(record.status)) return undefined;
    const position = await currentPosition(this.#options.runtime.stores, record);
    return {
      runId,
      whenIdle: () => this.whenIdle(runId, record.seq),
      events: () => this.events(runId, position),
    };
  }

  /**
   * Resolves when the run's record includes entry `seq` and shows that the run has ended, is suspended or waits for a
   * person.
   */
  async whenIdle(runId: string, seq: number): Promise<void> {
    const { runs } = this.#options.runtime.stores;
    for await (const _ of polls(this.#options.clock)) {
      this.#throwIfClosed();
      const record = await runs.record(runId);
      if (record && record.seq >= seq && isIdle(record)) return;
    }
  }

  /** Returns the events after a position. */
  events(runId: string, startPosition: EventPosition): AsyncIterable<RunEvent> {
    const { runtime, clock } = this.#options;
    return eventsAfter({ ...runtime, clock, mayContinue: () => !this.#isClosed }, runId, startPosition);
  }

  /**
   * Calls `executeLocally` if this process can own the run. `isRepeated`: an earlier owner may already have executed
   * the request. Otherwise sends the request to the run's owner, and returns the result, converted by `fromOutcome`. A
   * request may be executed twice, so it must be idempotent. Throws the EngineError with which the owner rejects it.
   */
  async request<T>(
    request: NewControlRequest,
    executeLocally: (isRepeated: boolean) => Promise<T>,
    fromOutcome: (value: Json) => Promise<T> | T,
  ): Promise<T> {
    const { requests, clock } = this.#options;
    const outcomeStore = {
      outcome: (requestId: string) => {
        this.#throwIfClosed();
        return requests.outcome(requestId);
      },
    };
    let id: string | undefined;
    try {
      for (;;) {
        try {
          return await executeLocally(id !== undefined);
        } catch (error) {
          if (!isHeldByAnother(error)) throw error;
        }
        id ??= await requests.add(await this.#redact(request));
        const outcome = await waitForOutcome(outcomeStore, id, { clock, timeoutMs: OUTCOME_WAIT_MS });
        if (outcome?.status === 'done') return await fromOutcome(outcome.value);
        if (outcome) throw new EngineError(outcome.code as EngineErrorCode, outcome.message);
      }
    } finally {
      if (id !== undefined) await this.#remove(id, request.runId);
    }
  }

  /** Removes a request. Its outcome counts even if this fails: `prune` removes the request later. */
  async #remove(id: string, runId: string): Promise<void> {
    try {
      await this.#options.requests.remove(id);
    } catch (error) {
      // The stores of a closed engine may be closed as well.
      if (!this.#isClosed) this.#options.runtime.onError(error, runId);
    }
  }

  /** Returns the request without the secrets that the run's blocks can read, because the request is stored. */
  async #redact(request: NewControlRequest): Promise<NewControlRequest> {
    const { stores, definitions, environments } = this.#options.runtime;
    const header = await stores.runs.header(request.runId);
    if (!header) return request;
    const environment = await environments.open(await definitions.plan(header.planHash));
    return { ...request, payload: environment.redactJson(request.payload) };
  }

  /** Rejects callers who wait for runs of other processes, and ends the events of these runs. */
  close(): void {
    this.#isClosed = true;
  }

  #throwIfClosed(): void {
    if (this.#isClosed)
      throw new EngineError('ENGINE_CLOSED', 'The engine is closed: other processes continue the run.');
  }
}

/** Returns the journal entry number in the outcome of a resume. */
export function seqIn(outcome: Json): number {
  const seq = isJsonObject(outcome) ? outcome['seq'] : undefined;
  return typeof seq === 'number' ? seq : 0;
}
