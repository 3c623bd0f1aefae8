import { RunReplica } from './run-replica.ts';
import type { FollowerParts } from './run-replica.ts';
import type { Position } from './position.ts';

/** Maximum number of followers that a process caches; the least recently used are removed. */
const MAX_FOLLOWERS = 500;
/**
 * Maximum number of followers of one run. Segments of a wide run request positions in almost increasing order: with
 * several followers, a request for a slightly older position need not fold the whole journal again.
 */
const MAX_FOLLOWERS_PER_RUN = 3;

/** Caches followers of runs, so that the next segment of a run need not fold its journal again. */
export class ReplicaCache {
  readonly #parts: FollowerParts;
  /** Followers that are not in use, least recently used first. */
  readonly #cached = new Set<RunReplica>();
  readonly #byRun = new Map<string, Set<RunReplica>>();
  readonly #catchingUp = new Map<string, Promise<void>>();

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  /**
   * Returns a follower at `position`, with the stores written up to there. It belongs to the caller until `release`.
   */
  async take(runId: string, position: Position): Promise<RunReplica> {
    return this.#followerAt(runId, position, false);
  }

  /** Returns a follower at `position` for reading only, with the stores written up to there. */
  async read(runId: string, position: Position): Promise<RunReplica> {
    return this.#followerAt(runId, position, true);
  }

  release(follower: RunReplica): void {
    const { runId } = follower.header;
    const siblings = this.#byRun.get(runId) ?? new Set();
    this.#byRun.set(runId, siblings);
    for (const set of [siblings, this.#cached]) {
      set.delete(follower);
      set.add(follower);
    }
    const [oldestOfRun] = siblings;
    if (siblings.size > MAX_FOLLOWERS_PER_RUN && oldestOfRun) this.#remove(oldestOfRun);
    const [oldest] = this.#cached;
    if (this.#cached.size > MAX_FOLLOWERS && oldest) this.#remove(oldest);
  }

  drop(runId: string): void {
    for (const follower of this.#byRun.get(runId) ?? []) this.#remove(follower);
  }

  #remove(follower: RunReplica): void {
    const { runId } = follower.header;
    const siblings = this.#byRun.get(runId);
    this.#cached.delete(follower);
    siblings?.delete(follower);
    if (siblings?.size === 0) this.#byRun.delete(runId);
  }

  /** Serves one request at a time for each run, so that the second reuses the entries that the first has read. */
  async #followerAt(runId: string, position: Position, isShared: boolean): Promise<RunReplica> {
    for (let pending; (pending = this.#catchingUp.get(runId));) await pending;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#catchingUp.set(runId, promise);
    try {
      const follower = this.#nearest(runId, position) ?? (await RunReplica.create(this.#parts, runId));
      this.#remove(follower);
      await follower.catchUp(position);
      if (this.#isSavedByOther(follower)) follower.forgetLogs();
      else await follower.save();
      if (isShared) this.release(follower);
      return follower;
    } finally {
      this.#catchingUp.delete(runId);
      resolve();
    }
  }

  /**
   * Returns the follower closest before `position`. If there is none and the run has the maximum number of followers,
   * returns one to reset.
   */
  #nearest(runId: string, position: Position): RunReplica | undefined {
    const siblings = [...(this.#byRun.get(runId) ?? [])];
    const candidates = siblings.filter((follower) => follower.canReach(position));
    const [nearest] = candidates.toSorted((a, b) => b.replica.seq - a.replica.seq);
    return nearest ?? (siblings.length < MAX_FOLLOWERS_PER_RUN ? undefined : siblings[0]);
  }

  /** True if another follower has already saved a later state of the run. */
  #isSavedByOther(follower: RunReplica): boolean {
    const { runId } = follower.header;
    return [...(this.#byRun.get(runId) ?? [])].some((other) => other.isAheadOf(follower));
  }
}
