/** Maximum numbers of concurrent jobs of a process, in total and for one workspace. */
export interface JobLimits {
  total: number;
  perWorkspace: number;
}

/** The jobs of this process that are running, each for a workspace. */
export class Jobs {
  readonly #limits: JobLimits;
  readonly #running = new Map<Promise<void>, string>();

  constructor(limits: JobLimits) {
    this.#limits = limits;
  }

  /** Number of jobs that may begin now. */
  get freeSlots(): number {
    return this.#limits.total - this.#running.size;
  }

  /** Returns the ids of the workspaces for which no further job may begin. */
  fullWorkspaces(): string[] {
    const jobs = Map.groupBy(this.#running.values(), (id) => id);
    return [...jobs].filter(([, running]) => running.length >= this.#limits.perWorkspace).map(([id]) => id);
  }

  /** Adds a job, which must not reject. Calls `onEnd` when it ends. */
  add(workspaceId: string, job: Promise<void>, onEnd: () => void): void {
    const running = job.finally(() => {
      this.#running.delete(running);
      onEnd();
    });
    this.#running.set(running, workspaceId);
  }

  /** Resolves when all jobs have ended. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#running.keys());
  }
}

/** The operations by which a process finds, claims and begins due work. */
export interface DueWorkSource<Due extends { workspace_id: string }> {
  jobs: Jobs;
  isClosed: () => boolean;
  /** Returns at most `limit` items of due work, without those of the workspaces `except`. */
  findDue: (query: { limit: number; except: readonly string[] }) => Promise<readonly Due[]>;
  /** Claims the work for this process. Returns undefined if another process has claimed or changed it. */
  claim: (due: Due) => Promise<Due | undefined>;
  begin: (claimed: Due) => void;
  /** Returns the time of the earliest due work, ignoring the workspaces `except`; undefined if there is none. */
  findEarliestDueMs: (query: { except: readonly string[] }) => Promise<number | undefined>;
}

/**
 * Begins due work. Resolves with the time of the next work; undefined if there is none, or if the maximum number of
 * jobs is running.
 */
export async function beginDue<Due extends { workspace_id: string }>(
  work: DueWorkSource<Due>,
): Promise<number | undefined> {
  const { jobs } = work;
  for (;;) {
    if (jobs.freeSlots <= 0 || work.isClosed()) return undefined;
    let count = 0;
    for (const due of await work.findDue({ limit: jobs.freeSlots, except: jobs.fullWorkspaces() })) {
      if (work.isClosed() || jobs.fullWorkspaces().includes(due.workspace_id)) continue;
      const claimed = await work.claim(due);
      if (!claimed) continue;
      work.begin(claimed);
      count += 1;
    }
    if (count === 0) return work.findEarliestDueMs({ except: jobs.fullWorkspaces() });
  }
}
