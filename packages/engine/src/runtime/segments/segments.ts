import { randomUUID } from 'node:crypto';
import { EngineError } from '@heddle/core';
import PQueue from 'p-queue';
import { createLimiter } from '../../execution/concurrency-limiter.ts';
import { missingEnvironmentReason } from '../../execution/plan-queries.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { unwrapInfrastructureError } from '../../records/infrastructure-error.ts';
import { recordSuspension } from '../../records/read-run.ts';
import { ChildCalls } from './child-calls.ts';
import { DetachedSegments } from './detached-segments.ts';
import type { RunReplica } from './run-replica.ts';
import type { Position, TimedEntry } from './position.ts';
import { ReplicaCache } from './replica-cache.ts';
import { Segment } from './segment.ts';
import type { PendingCommand, SegmentOutcome } from './segment.ts';
import { StallDetector } from './stall-detector.ts';

/** A request to execute commands of a run for a limited time. */
export interface SegmentRequest {
  runId: string;
  position: Position;
  /** The commands to execute. */
  owed: readonly PendingCommand[];
  /** True: continues with every block that can run here. False: executes only the given commands. */
  beyond: boolean;
  /** Milliseconds after which no further block starts. */
  softMs: number;
  /**
   * Milliseconds after which the segment is detached: it continues in this process until the next request claims it, or
   * until it is stopped because no request has claimed it in time.
   */
  hardMs?: number;
  /**
   * True if nothing else is running in the run and no message can arrive: if the run ends here, its end is written
   * immediately.
   */
  alone?: boolean | undefined;
  /** Aborted to stop all blocks. */
  signal: AbortSignal;
  /** Entries of an earlier attempt of this request whose worker was lost. Their blocks do not run again. */
  recoveredEntries?: readonly TimedEntry[] | undefined;
  /** Called with all entries so far after each new one. */
  onProgress?: (entries: readonly TimedEntry[]) => void;
}

type SegmentResponse = SegmentOutcome & {
  /** Id of the `JournalItem` that will contain the entries. */
  id: string;
  /** True if the segment was detached at `hardMs`. */
  over: boolean;
  /** True if the run has ended and everything is stored. */
  written: boolean;
};

/** Executes segments of runs that another process drives: the worker's part of a runtime. */
export class Segments {
  readonly #dependencies: RuntimeDependencies;
  readonly #cache: ReplicaCache;
  readonly #childCalls: ChildCalls;
  readonly #detachedSegments = new DetachedSegments();
  readonly #queue: PQueue;
  readonly #stallDetector: StallDetector;

  constructor(dependencies: RuntimeDependencies, stallDetector = new StallDetector()) {
    this.#dependencies = dependencies;
    this.#stallDetector = stallDetector;
    this.#cache = new ReplicaCache({ ...dependencies, stallDetector });
    this.#childCalls = new ChildCalls(dependencies);
    this.#queue = new PQueue({ concurrency: dependencies.concurrency.engine });
  }

  /**
   * Writes the journal up to the request's position and executes the commands.
   *
   * Throws errors that prevent the run from continuing, after writing the reason to the run's record: ENV_MISSING,
   * VALUE_MISSING, JOURNAL_CORRUPT, PLAN_FORMAT_UNSUPPORTED, and errors of the stores. Throws RUN_ELSEWHERE and writes
   * nothing more if this process was stalled.
   */
  async run(request: SegmentRequest): Promise<SegmentResponse> {
    return this.#stallDetector.watch(async () => {
      try {
        return await this.#execute(request);
      } catch (error) {
        const cause = unwrapInfrastructureError(error);
        this.#cache.drop(request.runId);
        await this.#recordFailure(request.runId, cause);
        throw cause;
      }
    });
  }

  async #execute(request: SegmentRequest): Promise<SegmentResponse> {
    const { position, beyond, hardMs, signal, alone = false } = request;
    const { runReplica, segment } =
      (await this.#claimDetached(request)) ?? (await this.#createSegment(request));
    const timeLimit = createTimeLimit(hardMs, signal);
    try {
      const outcome = await segment.run(request.owed, timeLimit.signal);
      const id = randomUUID();
      if (beyond && outcome.entries.length > 0) runReplica.markAdvanced(id, outcome);
      if (timeLimit.isExceeded)
        this.#detachedSegments.add(segment, runReplica, outcome.entries.length > 0 ? id : position.tip);
      else {
        segment.halt();
        if (beyond) this.#cache.release(runReplica);
      }
      const written = alone && !timeLimit.isExceeded && (await this.#closeIfEnded(runReplica, outcome));
      return { ...outcome, id, over: timeLimit.isExceeded, written };
    } catch (error) {
      segment.halt();
      throw error;
    } finally {
      timeLimit.clear();
    }
  }

  /** Writes all data of the run if it has ended with this outcome; else returns false. */
  async #closeIfEnded(runReplica: RunReplica, { entries }: SegmentOutcome): Promise<boolean> {
    if (runReplica.runState.idleState() !== 'ended') return false;
    await runReplica.close(entries);
    this.#release(runReplica.header.runId);
    return true;
  }

  async #claimDetached({ runId, position, beyond }: SegmentRequest) {
    const claimedSegment = beyond ? this.#detachedSegments.claim(runId, position) : undefined;
    await claimedSegment?.runReplica.write(position);
    return claimedSegment;
  }

  async #createSegment({ runId, position, beyond, softMs, recoveredEntries, onProgress }: SegmentRequest) {
    const runReplica = await (beyond ? this.#cache.take(runId, position) : this.#cache.read(runId, position));
    const environment = await this.#dependencies.environments.open(runReplica.plan);
    const reason = missingEnvironmentReason(runReplica.header, environment.values);
    if (reason !== undefined) throw new EngineError('ENV_MISSING', reason, { details: { runId } });
    const { concurrency } = this.#dependencies;
    const segment = new Segment({
      runtime: this.#dependencies,
      limiter: createLimiter(this.#queue, concurrency.run),
      childCalls: this.#childCalls,
      runReplica,
      environment,
      runsFollowingBlocks: beyond,
      softMs,
      onProgress,
    });
    if (recoveredEntries) segment.replay(recoveredEntries);
    return { runReplica, segment };
  }

  /**
   * Writes the journal, the record and the logs up to `position`. `suspensionReason`: the reason why the run cannot
   * continue.
   */
  async save(runId: string, position: Position, suspensionReason?: string): Promise<void> {
    return this.#stallDetector.watch(async () => {
      const runReplica = await this.#cache.read(runId, position);
      await runReplica.removeLostEntries();
      if (suspensionReason !== undefined) await runReplica.save(suspensionReason);
      if (runReplica.runState.idleState() === 'ended') this.#release(runId);
    });
  }

  #release(runId: string): void {
    this.#cache.drop(runId);
    this.#dependencies.codeService.release(runId);
  }

  async #recordFailure(runId: string, error: unknown): Promise<void> {
    this.#dependencies.onError(error, runId);
    if (this.#stallDetector.wasStalled) return;
    try {
      await recordSuspension(
        this.#dependencies,
        runId,
        error instanceof Error ? error.message : String(error),
      );
    } catch {
      // The error that stopped the run also prevents this write; it has been reported already.
    }
  }
}

/**
 * Returns a time limit whose signal is aborted with `signal` or after `limitMs`. `isExceeded`: the time limit has
 * aborted the signal. `clear` stops the timer.
 */
function createTimeLimit(limitMs: number | undefined, signal: AbortSignal) {
  const controller = new AbortController();
  const timeLimit = { signal: controller.signal, isExceeded: false, clear: () => undefined as void };
  const abort = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const timer =
    limitMs === undefined
      ? undefined
      : setTimeout(() => {
          timeLimit.isExceeded = true;
          controller.abort(new Error('The segment has exceeded its time limit.'));
        }, limitMs);
  timeLimit.clear = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  };
  return timeLimit;
}
