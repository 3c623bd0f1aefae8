import { RunReplica } from './run-replica.ts';
import type { RunReplicaDependencies } from './run-replica.ts';
import type { Position } from './position.ts';

/** Maximum number of replicas that a process caches; the least recently used are removed. */
const MAX_REPLICAS = 500;
/**
 * Maximum number of replicas of one run. Segments of parallel branches request positions in almost increasing order:
 * with several replicas, a request for a slightly older position need not fold the whole journal again.
 */
const MAX_REPLICAS_PER_RUN = 3;

/** Caches replicas of runs, so that the next segment of a run need not fold its journal again. */
export class ReplicaCache {
  readonly #dependencies: RunReplicaDependencies;
  /** Replicas that are not in use, least recently used first. */
  readonly #cachedReplicas = new Set<RunReplica>();
  readonly #replicasByRun = new Map<string, Set<RunReplica>>();
  readonly #catchUpsInProgress = new Map<string, Promise<void>>();

  constructor(dependencies: RunReplicaDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Brings the stores up to `position`, and returns a replica there. The replica belongs to the caller until `release`.
   */
  async take(runId: string, position: Position): Promise<RunReplica> {
    return this.#replicaAt(runId, position, false);
  }

  /** Brings the stores up to `position`, and returns a replica there that the caller only reads. */
  async read(runId: string, position: Position): Promise<RunReplica> {
    return this.#replicaAt(runId, position, true);
  }

  release(runReplica: RunReplica): void {
    const { runId } = runReplica.header;
    const siblings = this.#replicasByRun.get(runId) ?? new Set();
    this.#replicasByRun.set(runId, siblings);
    for (const set of [siblings, this.#cachedReplicas]) {
      set.delete(runReplica);
      set.add(runReplica);
    }
    const [oldestReplicaOfRun] = siblings;
    if (siblings.size > MAX_REPLICAS_PER_RUN && oldestReplicaOfRun) this.#remove(oldestReplicaOfRun);
    const [oldestReplica] = this.#cachedReplicas;
    if (this.#cachedReplicas.size > MAX_REPLICAS && oldestReplica) this.#remove(oldestReplica);
  }

  drop(runId: string): void {
    for (const runReplica of this.#replicasByRun.get(runId) ?? []) this.#remove(runReplica);
  }

  #remove(runReplica: RunReplica): void {
    const { runId } = runReplica.header;
    const siblings = this.#replicasByRun.get(runId);
    this.#cachedReplicas.delete(runReplica);
    siblings?.delete(runReplica);
    if (siblings?.size === 0) this.#replicasByRun.delete(runId);
  }

  /** Serves one request at a time for each run, so that the second reuses the entries that the first has read. */
  async #replicaAt(runId: string, position: Position, isShared: boolean): Promise<RunReplica> {
    for (let pendingCatchUp; (pendingCatchUp = this.#catchUpsInProgress.get(runId));) await pendingCatchUp;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#catchUpsInProgress.set(runId, promise);
    try {
      const runReplica =
        this.#nearestReplica(runId, position) ?? (await RunReplica.create(this.#dependencies, runId));
      this.#remove(runReplica);
      await runReplica.catchUp(position);
      // The replica keeps its changed logs: the other one may be from a lost task, whose logs must be replaced.
      if (!this.#isSavedByOther(runReplica)) await runReplica.save();
      if (isShared) this.release(runReplica);
      return runReplica;
    } finally {
      this.#catchUpsInProgress.delete(runId);
      resolve();
    }
  }

  /**
   * Returns the replica closest before `position`. If there is none and the run has the maximum number of replicas,
   * returns one to reset.
   */
  #nearestReplica(runId: string, position: Position): RunReplica | undefined {
    const siblings = [...(this.#replicasByRun.get(runId) ?? [])];
    const candidates = siblings.filter((runReplica) => runReplica.canReach(position));
    const [nearestReplica] = candidates.toSorted((a, b) => b.runState.seq - a.runState.seq);
    return nearestReplica ?? (siblings.length < MAX_REPLICAS_PER_RUN ? undefined : siblings[0]);
  }

  /** True if another replica has already saved a later state of the run. */
  #isSavedByOther(runReplica: RunReplica): boolean {
    const { runId } = runReplica.header;
    return [...(this.#replicasByRun.get(runId) ?? [])].some((otherReplica) =>
      otherReplica.isAheadOf(runReplica),
    );
  }
}
