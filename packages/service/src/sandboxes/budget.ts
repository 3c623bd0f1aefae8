/** Writes that a workspace may do at once, and that it gets back in a minute. */
const CAPACITY = 20;
const PER_MINUTE = 10;
const MS_PER_WRITE = 60_000 / PER_MINUTE;

/** The number of writes that each workspace may do: a token bucket, in one process. */
export class WriteBudget {
  readonly #now: () => number;
  /** When the bucket of a workspace will be full, in milliseconds. */
  readonly #fullAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes one write. Returns undefined, or the seconds after which the workspace may try again. */
  take(workspaceId: string): number | undefined {
    const now = this.#now();
    for (const [id, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(id);
    const fullAt = Math.max(this.#fullAt.get(workspaceId) ?? now, now) + MS_PER_WRITE;
    const missingMs = fullAt - now - CAPACITY * MS_PER_WRITE;
    if (missingMs > 0) return Math.ceil(missingMs / 1000);
    this.#fullAt.set(workspaceId, fullAt);
    return undefined;
  }
}
