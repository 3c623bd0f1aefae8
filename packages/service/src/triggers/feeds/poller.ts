import type { AreaContext } from '@heddle/api';
import { DueLoop } from '../due-loop.ts';
import { dueTriggers, earliestTrigger } from '../due-triggers.ts';
import type { DueTrigger } from '../due-triggers.ts';
import { moveTrigger } from '../move.ts';
import type { FeedType } from '../types.ts';
import { Poll } from './poll.ts';
import type { FeedServices } from './poll.ts';

/** Polls of this process at once, and those for one workspace among them. */
const MAX_POLLS = 16;
const MAX_WORKSPACE_POLLS = 4;
/** Longest time of a poll. */
const POLL_MS = 120_000;
/** When another process polls the trigger of a process that has died. */
const LEASE_MS = 2 * POLL_MS;

export type PollerOptions = FeedServices &
  Pick<AreaContext, 'every'> & { types: ReadonlyMap<string, FeedType> };

/** Polls sources when they are due. Any number of processes may do so on one database: each poll is claimed by one of them. */
export class FeedPoller {
  readonly #options: PollerOptions;
  readonly #loop: DueLoop;
  /** The polls of this process, with the workspaces that they are for. */
  readonly #polls = new Map<Promise<void>, string>();
  readonly #stop = new AbortController();

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#loop = new DueLoop({ ...options, work: () => this.#begin() });
  }

  /** Looks at the triggers again: one of them has changed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops all polls. The next polls find the items that were not accepted. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop.close();
    await Promise.allSettled(this.#polls.keys());
  }

  /** Begins polls that are due. Resolves with the time of the next one; undefined while there is no room for it. */
  async #begin(): Promise<number | undefined> {
    const { db, types, now } = this.#options;
    for (;;) {
      const room = MAX_POLLS - this.#polls.size;
      if (room <= 0 || this.#loop.isClosed) return undefined;
      const watched = { types, except: this.#fullWorkspaces() };
      const due = await dueTriggers(db as never, { ...watched, nowMs: now(), limit: room });
      let begun = 0;
      for (const trigger of due) {
        if (this.#loop.isClosed || this.#isFull(trigger)) continue;
        const claimed = await this.#claimed(trigger);
        if (!claimed) continue;
        this.#poll(claimed);
        begun += 1;
      }
      if (begun === 0) return earliestTrigger(db as never, { types, except: this.#fullWorkspaces() });
    }
  }

  #isFull({ workspace_id: id }: DueTrigger): boolean {
    return [...this.#polls.values()].filter((each) => each === id).length >= MAX_WORKSPACE_POLLS;
  }

  #fullWorkspaces(): string[] {
    const counts = Map.groupBy(this.#polls.values(), (id) => id);
    return [...counts].filter(([, polls]) => polls.length >= MAX_WORKSPACE_POLLS).map(([id]) => id);
  }

  /** Takes the poll, until its lease ends. Undefined: another process has, or the trigger has changed. */
  async #claimed(trigger: DueTrigger): Promise<DueTrigger | undefined> {
    const { db, now } = this.#options;
    const change = { fire_ms: now() + LEASE_MS };
    const isMoved = await moveTrigger(db as never, { trigger, change });
    return isMoved ? { ...trigger, ...change } : undefined;
  }

  #poll(trigger: DueTrigger): void {
    const type = this.#options.types.get(trigger.type) as FeedType;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(POLL_MS)]);
    const poll = new Poll(this.#options, { trigger, type, signal });
    const polling = poll
      .run()
      .catch((error: unknown) => this.#options.report(error))
      .finally(() => {
        this.#polls.delete(polling);
        this.#loop.hurry();
      });
    this.#polls.set(polling, trigger.workspace_id);
  }
}
