import { Follower } from './follower.ts';
import type { FollowerParts } from './follower.ts';
import type { Position } from './position.ts';

/** Replicas that a process keeps at hand, those used last. */
const KEPT = 500;
/**
 * Of one run. What is begun together in a wide run is asked for in almost the order of its positions: whoever comes a
 * little late finds a replica that trails, instead of folding the whole journal again.
 */
const KEPT_OF_RUN = 3;

/** The runs that this process follows. */
export class Followers {
  private readonly parts: FollowerParts;
  /** Those that nobody changes, least recently used first. */
  private readonly idle = new Set<Follower>();
  private readonly byRun = new Map<string, Set<Follower>>();
  private readonly catching = new Map<string, Promise<void>>();

  constructor(parts: FollowerParts) {
    this.parts = parts;
  }

  /** The run at `position`, stored up to there; the caller's own until it is given back. */
  async take(runId: string, position: Position): Promise<Follower> {
    return this.caughtUp(runId, position, false);
  }

  /** The run at `position`, stored up to there, to be read only. */
  async look(runId: string, position: Position): Promise<Follower> {
    return this.caughtUp(runId, position, true);
  }

  give(follower: Follower): void {
    const { runId } = follower.header;
    const siblings = this.byRun.get(runId) ?? new Set();
    this.byRun.set(runId, siblings);
    for (const kept of [siblings, this.idle]) {
      kept.delete(follower);
      kept.add(follower);
    }
    const [oldestOfRun] = siblings;
    if (siblings.size > KEPT_OF_RUN && oldestOfRun) this.remove(oldestOfRun);
    const [oldest] = this.idle;
    if (this.idle.size > KEPT && oldest) this.remove(oldest);
  }

  drop(runId: string): void {
    for (const follower of this.byRun.get(runId) ?? []) this.remove(follower);
  }

  private remove(follower: Follower): void {
    const { runId } = follower.header;
    const siblings = this.byRun.get(runId);
    this.idle.delete(follower);
    siblings?.delete(follower);
    if (siblings?.size === 0) this.byRun.delete(runId);
  }

  /** One at a time for each run: who comes second finds what the first has read. */
  private async caughtUp(runId: string, position: Position, shared: boolean): Promise<Follower> {
    for (let other; (other = this.catching.get(runId));) await other;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.catching.set(runId, promise);
    try {
      const follower = this.nearest(runId, position) ?? (await Follower.of(this.parts, runId));
      this.remove(follower);
      await follower.catchUp(position);
      if (this.isTold(follower)) follower.forgetLogs();
      else await follower.save();
      if (shared) this.give(follower);
      return follower;
    } finally {
      this.catching.delete(runId);
      resolve();
    }
  }

  /** The replica that has the shortest way to `position`; one that is past it, or guesses, where there is no room for another. */
  private nearest(runId: string, position: Position): Follower | undefined {
    const siblings = [...(this.byRun.get(runId) ?? [])];
    const before = siblings.filter((follower) => follower.isBefore(position));
    const [last] = before.toSorted((a, b) => b.replica.seq - a.replica.seq);
    return last ?? (siblings.length < KEPT_OF_RUN ? undefined : siblings[0]);
  }

  /** Another replica has told more of the run. */
  private isTold(follower: Follower): boolean {
    const { runId } = follower.header;
    return [...(this.byRun.get(runId) ?? [])].some((other) => other.isPast(follower));
  }
}
