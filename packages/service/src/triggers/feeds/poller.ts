import type { AreaContext } from '@heddle/api';
import { AuditStore } from '../../store/audit.ts';
import { DueLoop } from '../due-loop.ts';
import { isLive } from '../fire.ts';
import type { LiveTrigger } from '../fire.ts';
import { moveTrigger } from '../move.ts';
import { turnBy, withNumbers } from '../rows.ts';
import type { TriggerRow } from '../tables.ts';
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

type DueTrigger = LiveTrigger & { due_ms: number };

function isDue(row: TriggerRow): row is DueTrigger {
  return isLive(row) && row.due_ms !== null;
}

/** Polls sources when they are due. Any number of processes may do so on one database: each poll is claimed by one of them. */
export class FeedPoller {
  readonly #options: PollerOptions;
  readonly #audit: AuditStore;
  readonly #loop: DueLoop;
  /** The polls of this process, with the workspaces that they are for. */
  readonly #polls = new Map<Promise<void>, string>();
  readonly #stop = new AbortController();

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#audit = new AuditStore(options.db as never);
    this.#loop = new DueLoop({ ...options, work: () => this.#begin() });
  }

  /** Looks at the triggers again: one of them has changed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Stops all polls. What they have not accepted is found again by the next ones. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop.close();
    await Promise.allSettled(this.#polls.keys());
  }

  /** Begins polls that are due. Resolves with the time of the next one; undefined while there is no room for it. */
  async #begin(): Promise<number | undefined> {
    for (;;) {
      const room = MAX_POLLS - this.#polls.size;
      if (room <= 0 || this.#loop.isClosed) return undefined;
      const due = await this.#due(room);
      let begun = 0;
      for (const trigger of due) {
        if (this.#loop.isClosed || this.#isFull(trigger)) continue;
        const claimed = await this.#claimed(trigger);
        if (!claimed) continue;
        this.#poll(claimed);
        begun += 1;
      }
      if (begun === 0) return this.#earliest();
    }
  }

  #isFull({ workspace_id: id }: DueTrigger): boolean {
    return [...this.#polls.values()].filter((each) => each === id).length >= MAX_WORKSPACE_POLLS;
  }

  #fullWorkspaces(): string[] {
    const counts = Map.groupBy(this.#polls.values(), (id) => id);
    return [...counts].filter(([, polls]) => polls.length >= MAX_WORKSPACE_POLLS).map(([id]) => id);
  }

  /** Returns triggers whose time has come, of each workspace in turn: the feeds of one delay no other one's. */
  async #due(limit: number): Promise<DueTrigger[]> {
    const { db, types, now } = this.#options;
    const full = this.#fullWorkspaces();
    const rows = await db
      .with('due', (query) =>
        query
          .selectFrom('triggers')
          .select('id')
          .select(turnBy('fire_ms', 'id'))
          .where('fire_ms', '<=', now())
          .where('type', 'in', [...types.keys()])
          .$if(full.length > 0, (some) => some.where('workspace_id', 'not in', full)),
      )
      .selectFrom('due')
      .innerJoin('triggers', 'triggers.id', 'due.id')
      .selectAll('triggers')
      .orderBy('due.turn')
      .orderBy('triggers.id')
      .limit(limit)
      .execute();
    return rows.map(withNumbers).filter(isDue);
  }

  async #earliest(): Promise<number | undefined> {
    const { db, types } = this.#options;
    const full = this.#fullWorkspaces();
    const row = await db
      .selectFrom('triggers')
      .select('fire_ms')
      .where('fire_ms', 'is not', null)
      .where('type', 'in', [...types.keys()])
      .$if(full.length > 0, (some) => some.where('workspace_id', 'not in', full))
      .orderBy('fire_ms')
      .limit(1)
      .executeTakeFirst();
    return row?.fire_ms == null ? undefined : Number(row.fire_ms);
  }

  /** Takes the poll, until its lease ends. Undefined: another process has, or the trigger has changed. */
  async #claimed(trigger: DueTrigger): Promise<DueTrigger | undefined> {
    const { db, now } = this.#options;
    const change = { fire_ms: now() + LEASE_MS };
    const isMoved = await moveTrigger(db as never, { audit: this.#audit, trigger, change });
    return isMoved ? { ...trigger, ...change } : undefined;
  }

  #poll(trigger: DueTrigger): void {
    const type = this.#options.types.get(trigger.type) as FeedType;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(POLL_MS)]);
    const poll = new Poll(this.#options, { trigger, type, signal, audit: this.#audit });
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
