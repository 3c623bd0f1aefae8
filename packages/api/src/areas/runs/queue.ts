import PQueue from 'p-queue';
import { isEngineError } from '@heddle/core';
import type { Engine, RunHandle } from '@heddle/engine';
import type { Release } from '../../admission/usage.ts';
import { isRunIdTaken, refusalOf } from '../../errors.ts';
import { FairQueue } from './fair-queue.ts';
import type { FairQueueOptions } from './fair-queue.ts';
import { runIdOptions } from './ids.ts';
import { redactMessage } from './redacted-message.ts';
import type { QueuedRun, QueuedStart, ReservationFailure, Reservations, StartQueue } from '../../ports.ts';

/** Maximum number of queued runs that are being started concurrently. */
const MAX_CONCURRENT_STARTS = 16;
/**
 * Below this number of waiting runs, accepting requests takes precedence over starting runs. From this number on,
 * clients that send requests faster than runs start are slowed down: the waiting runs must fit into the memory of this
 * process.
 */
const PRECEDENCE_THRESHOLD = 10_000;
const SERVICE_UNAVAILABLE = 503;

interface Submission extends QueuedRun {
  /** Called when the run has ended, waits for a person, or was not started. */
  release?: Release | undefined;
}

/** Starts queued runs. The queue is stored: when a process dies, the next one starts its runs. */
export class RunQueue {
  readonly #engine: Engine;
  readonly #reservations: Reservations;
  readonly #storedQueue: StartQueue;
  readonly #onError: (error: unknown) => void;
  readonly #starts = new PQueue<FairQueue, FairQueueOptions>({
    concurrency: MAX_CONCURRENT_STARTS,
    queueClass: FairQueue,
  });
  readonly #startThrottle = new RunStartThrottle();
  /** The engine's ids of submitted runs that have not been started. */
  readonly #submittedIds = new Set<string>();
  #isClosed = false;

  constructor(options: {
    engine: Engine;
    reservations: Reservations;
    queue: StartQueue;
    onError: (error: unknown) => void;
  }) {
    this.#engine = options.engine;
    this.#reservations = options.reservations;
    this.#storedQueue = options.queue;
    this.#onError = options.onError;
  }

  /**
   * Starts the queued runs of all processes; with `reservedBefore`, only those that were reserved before that time.
   * Several processes may do this concurrently: the engine starts a run once.
   */
  async recover(reservedBefore?: string): Promise<void> {
    if (this.#isClosed) return;
    for (const queuedRun of await this.#storedQueue.list(reservedBefore))
      if (!this.#submittedIds.has(queuedRun.engineRunId)) this.submit(queuedRun);
  }

  /** Stores the run, so that it starts even if this process dies. */
  add(engineRunId: string, start: QueuedStart): Promise<void> {
    return this.whileAccepting(() => this.#storedQueue.add(engineRunId, start));
  }

  /** Calls `accept`, which accepts a request whose run is queued. Meanwhile, queued runs start one by one. */
  whileAccepting<T>(accept: () => Promise<T>): Promise<T> {
    return this.#startThrottle.whileAccepting(accept);
  }

  /** Removes a run from the queue. Returns false if it is not in the queue. */
  remove(engineRunId: string, failure: ReservationFailure): Promise<boolean> {
    return this.#storedQueue.remove(engineRunId, failure);
  }

  /**
   * Starts the run after those of its workspace that were submitted before it. Runs of several workspaces start in
   * turn.
   */
  submit(submission: Submission): void {
    this.#submittedIds.add(submission.engineRunId);
    this.#starts
      .add(() => this.#start(submission), { group: submission.workspaceId })
      .catch(this.#onError)
      .finally(() => this.#submittedIds.delete(submission.engineRunId));
  }

  /** Stops starting runs. The next process starts the rest. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#starts.clear();
    await this.#starts.onIdle();
  }

  async #start(submission: Submission): Promise<void> {
    if (this.#starts.size < PRECEDENCE_THRESHOLD) await this.#startThrottle.wait();
    if (this.#isClosed) return;
    const { release } = submission;
    const run = await this.#startAndDequeue(submission).catch((error: unknown) => {
      release?.();
      throw error;
    });
    // The run's record contains its failure, so a rejection needs no report.
    if (release) void (run?.result() ?? Promise.resolve()).then(release, release);
  }

  /** Returns the run; undefined when this process did not start it. */
  async #startAndDequeue(queuedRun: QueuedRun): Promise<RunHandle | undefined> {
    const { engineRunId } = queuedRun;
    const run = await this.#startInEngine(queuedRun);
    if (run === 'notStarted') return undefined;
    if (await this.#storedQueue.remove(engineRunId)) return run;
    // The run was cancelled in the queue while the engine started it.
    const reservation = (await this.#reservations.findByEngineRunIds([engineRunId])).get(engineRunId);
    if (reservation?.failure)
      await this.#engine.cancel(engineRunId, 'The run was cancelled before it began.');
    return run;
  }

  async #startInEngine(queuedRun: QueuedRun): Promise<RunHandle | 'notStarted' | undefined> {
    const { input, version, ownsFiles = false, ...startOptions } = queuedRun.start;
    const options = { ...runIdOptions(queuedRun), version, hasUnownedFiles: !ownsFiles, ...startOptions };
    try {
      return await this.#engine.start(queuedRun.workflowId, input, options);
    } catch (error) {
      // Another process has started the run, or an earlier process of this queue before it died.
      if (isRunIdTaken(error)) return undefined;
      await this.#handleError(queuedRun, error);
      return 'notStarted';
    }
  }

  async #handleError(
    { engineRunId, workflowId, start: { version } }: QueuedRun,
    error: unknown,
  ): Promise<void> {
    const refusal = refusalOf(error);
    if (!refusal) this.#onError(error);
    // The engine or its database is unavailable: the run stays in the queue.
    if (refusal?.status === SERVICE_UNAVAILABLE) return;
    const isInputInvalid = isEngineError(error) && error.code === 'INPUT_INVALID';
    // An internal error may name a database or a file, so callers do not see its message.
    const text = refusal?.message ?? 'The run could not be started.';
    const message = await redactMessage(this.#engine, workflowId, text, { version });
    const reason = isInputInvalid ? 'INVALID_INPUT' : 'EXECUTION_FAILED';
    await this.#storedQueue.remove(engineRunId, { reason, message });
  }
}

/**
 * Decides when queued runs begin. While requests are being accepted, one run begins in each iteration of the event
 * loop; otherwise all waiting runs begin. In a burst, clients get early responses, and queued runs still start
 * steadily.
 */
export class RunStartThrottle {
  readonly #waiters: (() => void)[] = [];
  #acceptingCount = 0;
  #isWaitingForTurn = false;

  /** Calls `accept`, which accepts a request. */
  async whileAccepting<T>(accept: () => Promise<T>): Promise<T> {
    this.#acceptingCount += 1;
    try {
      return await accept();
    } finally {
      this.#acceptingCount -= 1;
    }
  }

  /** Resolves when the next run may begin, in the order of the calls. */
  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push(resolve);
    this.#scheduleNext();
    return promise;
  }

  #scheduleNext(): void {
    if (this.#isWaitingForTurn || this.#waiters.length === 0) return;
    this.#isWaitingForTurn = true;
    setImmediate(() => {
      this.#isWaitingForTurn = false;
      const startCount = this.#acceptingCount > 0 ? 1 : this.#waiters.length;
      for (const begin of this.#waiters.splice(0, startCount)) begin();
      this.#scheduleNext();
    });
  }
}
