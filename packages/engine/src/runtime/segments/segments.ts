import { randomUUID } from 'node:crypto';
import { EngineError } from '@heddle/core';
import PQueue from 'p-queue';
import { gateOf } from '../../execution/gate.ts';
import { causeOf } from '../../records/infrastructure-error.ts';
import { missingEnvironment } from '../../execution/plan-queries.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { recordSuspension } from '../../records/stored-record.ts';
import { Calls } from './child-calls.ts';
import type { Follower } from './follower.ts';
import { Followers } from './replica-cache.ts';
import { Parked } from './detached-segments.ts';
import type { Position, Timed } from './position.ts';
import { Pulse } from './stall-detector.ts';
import { Segment } from './segment.ts';
import type { Happening, Owed } from './segment.ts';

/** What to run of a run, and for how long. */
export interface SegmentRequest {
  runId: string;
  position: Position;
  owed: readonly Owed[];
  /** True: goes on over every block that code can run here. False: carries out what is owed, and no more. */
  beyond: boolean;
  /** Milliseconds after which nothing new begins. */
  softMs: number;
  /** Milliseconds after which what still runs is left to the next segment: in this process it goes on meanwhile. */
  hardMs?: number;
  /** Nothing else is under way in the run, and nothing can come in meanwhile: when it ends here, its end is written at once. */
  alone?: boolean | undefined;
  /** Stops what runs. */
  signal: AbortSignal;
  /** What an earlier try of the same request, whose worker was lost, has done: it does not run again. */
  done?: readonly Timed[] | undefined;
  /** Told of all that has happened so far, whenever something has. */
  progress?: (entries: readonly Timed[]) => void;
}

type Ran = Happening & { id: string; over: boolean; written: boolean };

/** Runs stretches of runs that another place keeps: a worker's half of a runtime. */
export class Segments {
  private readonly parts: RuntimeParts;
  private readonly followers: Followers;
  private readonly calls: Calls;
  private readonly parked = new Parked();
  private readonly queue: PQueue;
  private readonly pulse: Pulse;

  constructor(parts: RuntimeParts, pulse = new Pulse()) {
    this.parts = parts;
    this.pulse = pulse;
    this.followers = new Followers({ ...parts, pulse });
    this.calls = new Calls(parts);
    this.queue = new PQueue({ concurrency: parts.concurrency.engine });
  }

  /**
   * Writes the journal up to the request's position and carries out what is owed. `over`: stopped at `hardMs`; `written`:
   * the run has ended, and all of it is in the store.
   *
   * Throws what keeps the run from going on, after the run's record says so: ENV_MISSING, VALUE_MISSING, JOURNAL_CORRUPT,
   * PLAN_FORMAT_UNSUPPORTED, faults of the stores. Throws RUN_ELSEWHERE where this process has stood still: then nothing
   * more of it is written.
   */
  async run(request: SegmentRequest): Promise<Ran> {
    return this.pulse.during(async () => {
      try {
        return await this.attempt(request);
      } catch (error) {
        const cause = causeOf(error);
        this.followers.drop(request.runId);
        await this.suspend(request.runId, cause);
        throw cause;
      }
    });
  }

  private async attempt(request: SegmentRequest): Promise<Ran> {
    const { position, beyond, hardMs, signal, alone = false } = request;
    const { follower, segment } = (await this.takenUp(request)) ?? (await this.begun(request));
    const cut = cutAfter(hardMs, signal);
    try {
      const happening = await segment.run(request.owed, cut.signal);
      const id = randomUUID();
      if (beyond && happening.entries.length > 0) follower.guess(id, happening.logs);
      if (cut.over) this.parked.park(segment, follower, happening.entries.length > 0 ? id : position.tip);
      else {
        segment.halt();
        if (beyond) this.followers.give(follower);
      }
      const written = alone && !cut.over && (await this.closed(follower, happening));
      return { ...happening, id, over: cut.over, written };
    } catch (error) {
      segment.halt();
      throw error;
    } finally {
      cut.clear();
    }
  }

  /** True when the run has ended with `happening`; then all of it is written. */
  private async closed(follower: Follower, { entries }: Happening): Promise<boolean> {
    if (follower.replica.idleState() !== 'ended') return false;
    await follower.close(entries);
    this.release(follower.header.runId);
    return true;
  }

  /** A segment that was left going where it took too long. */
  private async takenUp({ runId, position, beyond }: SegmentRequest) {
    const parked = beyond ? this.parked.take(runId, position) : undefined;
    await parked?.follower.write(position);
    return parked;
  }

  private async begun({ runId, position, beyond, softMs, done, progress }: SegmentRequest) {
    const follower = await (beyond
      ? this.followers.take(runId, position)
      : this.followers.look(runId, position));
    const environment = await this.parts.environments.open(follower.plan);
    const missing = missingEnvironment(follower.header, environment.values);
    if (missing !== undefined) throw new EngineError('ENV_MISSING', missing, { details: { runId } });
    const { concurrency } = this.parts;
    const segment = new Segment({
      runtime: this.parts,
      gate: gateOf(this.queue, concurrency.run),
      calls: this.calls,
      follower,
      environment,
      beyond,
      softMs,
      progress,
    });
    if (done) segment.replay(done);
    return { follower, segment };
  }

  /** Writes the journal, the record and the logs up to `position`. `fault`: why the run cannot go on. */
  async settle(runId: string, position: Position, fault?: string): Promise<void> {
    return this.pulse.during(async () => {
      const follower = await this.followers.look(runId, position);
      if (fault !== undefined) await follower.save(fault);
      if (follower.replica.idleState() === 'ended') this.release(runId);
    });
  }

  private release(runId: string): void {
    this.followers.drop(runId);
    this.parts.code.release(runId);
  }

  private async suspend(runId: string, why: unknown): Promise<void> {
    this.parts.report(why, runId);
    if (this.pulse.missed) return;
    try {
      await recordSuspension(this.parts, runId, why instanceof Error ? why.message : String(why));
    } catch {
      // What stands against the run stands against its record too, and has been reported.
    }
  }
}

/** A signal that `signal` aborts, or `ms` when they are over. */
function cutAfter(ms: number | undefined, signal: AbortSignal) {
  const controller = new AbortController();
  const cut = { signal: controller.signal, over: false, clear: () => undefined as void };
  const abort = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  const timer =
    ms === undefined
      ? undefined
      : setTimeout(() => {
          cut.over = true;
          controller.abort(new Error('The segment has taken too long.'));
        }, ms);
  cut.clear = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  };
  return cut;
}
