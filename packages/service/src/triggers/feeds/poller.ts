import type { AreaContext } from '@heddle/api';
import { TimerLoop } from '../timer-loop.ts';
import { findDueTriggers, findEarliestDueMs } from '../due-triggers.ts';
import type { DueTrigger } from '../due-triggers.ts';
import { beginDueWork, Jobs } from '../jobs.ts';
import type { JobLimits } from '../jobs.ts';
import { advanceTrigger } from '../advance.ts';
import type { FeedTrigger } from '@heddle/engine/triggers';
import { Poll } from './poll.ts';
import type { FeedServices } from './poll.ts';

/** Maximum numbers of concurrent polls of this process. */
const MAX_POLLS: JobLimits = { total: 16, perWorkspace: 4 };
/** Maximum duration of a poll. */
const POLL_TIMEOUT_MS = 120_000;
/** Duration of a lease. When it has expired, another process polls the source. */
const LEASE_MS = 2 * POLL_TIMEOUT_MS;

export type PollerOptions = FeedServices &
  Pick<AreaContext, 'repeat'> & { types: ReadonlyMap<string, FeedTrigger> };

/** Polls sources when they are due. Several processes can share one database: one of them claims each poll. */
export class FeedPoller {
  readonly #options: PollerOptions;
  readonly #loop: TimerLoop;
  readonly #polls = new Jobs(MAX_POLLS);
  readonly #stopController = new AbortController();

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#loop = new TimerLoop({ ...options, work: () => this.#beginDuePolls() });
  }

  /** Checks the triggers again. Call it when one of them has changed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops all polls. The next polls find the items that were not accepted. */
  async close(): Promise<void> {
    this.#stopController.abort();
    await this.#loop.close();
    await this.#polls.waitUntilIdle();
  }

  #beginDuePolls(): Promise<number | undefined> {
    const { db, types, now } = this.#options;
    return beginDueWork({
      jobs: this.#polls,
      isClosed: () => this.#loop.isClosed,
      findDueWork: (query) => findDueTriggers(db as never, { types, nowMs: now(), ...query }),
      claim: (trigger) => this.#claim(trigger),
      begin: (trigger) => this.#poll(trigger),
      findEarliestDueMs: (query) => findEarliestDueMs(db as never, { types, ...query }),
    });
  }

  /**
   * Claims the poll until the lease expires. Returns undefined if another process has claimed it or the trigger has
   * changed.
   */
  async #claim(trigger: DueTrigger): Promise<DueTrigger | undefined> {
    const { db, now } = this.#options;
    const change = { fire_ms: now() + LEASE_MS };
    const isClaimed = await advanceTrigger(db as never, { trigger, change });
    return isClaimed ? { ...trigger, ...change } : undefined;
  }

  #poll(trigger: DueTrigger): void {
    const type = this.#options.types.get(trigger.type) as FeedTrigger;
    const signal = AbortSignal.any([this.#stopController.signal, AbortSignal.timeout(POLL_TIMEOUT_MS)]);
    const poll = new Poll(this.#options, { trigger, type, signal });
    const job = poll.run().catch((error: unknown) => this.#options.onError(error));
    this.#polls.add(trigger.workspace_id, job, () => this.#loop.checkNow());
  }
}
