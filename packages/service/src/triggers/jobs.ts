/** Maximum numbers of concurrent jobs of a process, in total and for one workspace. */
export interface JobLimits {
  total: number;
  perWorkspace: number;
}

/** The jobs of this process that are running, each for a workspace. */
export class Jobs {
  readonly #limits: JobLimits;
  readonly #runningJobs = new Map<Promise<void>, string>();

  constructor(limits: JobLimits) {
    this.#limits = limits;
  }

  /** Number of jobs that may begin now. */
  get freeSlotCount(): number {
    return this.#limits.total - this.#runningJobs.size;
  }

  /** Returns the ids of the workspaces for which no further job may begin. */
  fullWorkspaceIds(): string[] {
    const idsByWorkspace = Map.groupBy(this.#runningJobs.values(), (id) => id);
    return [...idsByWorkspace].filter(([, ids]) => ids.length >= this.#limits.perWorkspace).map(([id]) => id);
  }

  /** Adds a job, which must not reject. Calls `onEnd` when it ends. */
  add(workspaceId: string, job: Promise<void>, onEnd: () => void): void {
    const runningJob = job.finally(() => {
      this.#runningJobs.delete(runningJob);
      onEnd();
    });
    this.#runningJobs.set(runningJob, workspaceId);
  }

  /** Resolves when all jobs have ended. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#runningJobs.keys());
  }
}

/** The operations by which a process finds, claims and begins due work. */
export interface DueWorkSource<DueWork extends { workspace_id: string }> {
  jobs: Jobs;
  isClosed: () => boolean;
  /** Returns at most `limit` items of due work, without those of the workspaces `excludedWorkspaceIds`. */
  findDueWork: (query: {
    limit: number;
    excludedWorkspaceIds: readonly string[];
  }) => Promise<readonly DueWork[]>;
  /** Claims the work for this process. Returns undefined if another process has claimed or changed it. */
  claim: (dueWork: DueWork) => Promise<DueWork | undefined>;
  begin: (claimedWork: DueWork) => void;
  /**
   * Returns the time of the earliest due work, ignoring the workspaces `excludedWorkspaceIds`; undefined if there is
   * none.
   */
  findEarliestDueMs: (query: { excludedWorkspaceIds: readonly string[] }) => Promise<number | undefined>;
}

/**
 * Begins due work. Resolves with the time of the next work; undefined if there is none, or if the maximum number of
 * jobs is running.
 */
export async function beginDueWork<DueWork extends { workspace_id: string }>(
  source: DueWorkSource<DueWork>,
): Promise<number | undefined> {
  const { jobs } = source;
  for (;;) {
    if (jobs.freeSlotCount <= 0 || source.isClosed()) return undefined;
    let count = 0;
    for (const dueWork of await source.findDueWork({
      limit: jobs.freeSlotCount,
      excludedWorkspaceIds: jobs.fullWorkspaceIds(),
    })) {
      if (source.isClosed() || jobs.fullWorkspaceIds().includes(dueWork.workspace_id)) continue;
      const claimedWork = await source.claim(dueWork);
      if (!claimedWork) continue;
      source.begin(claimedWork);
      count += 1;
    }
    if (count === 0) return source.findEarliestDueMs({ excludedWorkspaceIds: jobs.fullWorkspaceIds() });
  }
}
