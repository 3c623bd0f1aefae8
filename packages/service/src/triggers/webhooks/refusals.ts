import type { AreaContext } from '@heddle/api';
import type { Kysely } from 'kysely';
import type { WebhookTables } from './tables.ts';

type Db = Kysely<WebhookTables>;

/** Interval at which counts are written, so that a flood of refused requests causes one write of a row per second. */
const FLUSH_MS = 1000;
const MAX_REASON_CHARACTERS = 200;
/** Maximum number of reasons of one trigger, because senders choose the names of events. */
const MAX_REASONS = 50;
/** Maximum number of counts that wait to be written. */
const MAX_WAITING_COUNTS = 10_000;

interface RefusalCount {
  workflowId: string;
  blockId: string;
  reason: string;
  count: number;
  firstMs: number;
  lastMs: number;
}

/** Counts requests that started no run, by trigger and reason. */
export class RefusalCounter {
  readonly #db: Db;
  readonly #onError: (error: unknown) => void;
  readonly #counts = new Map<string, RefusalCount>();
  readonly #stopFlushing: () => void;
  #lastFlush: Promise<void> = Promise.resolve();

  constructor(options: { db: Db; repeat: AreaContext['repeat']; onError: (error: unknown) => void }) {
    this.#db = options.db;
    this.#onError = options.onError;
    this.#stopFlushing = options.repeat(FLUSH_MS, () => void this.flush());
  }

  add({ workflowId, blockId }: { workflowId: string; blockId: string }, reason: string, nowMs: number): void {
    const text = storableText(reason).slice(0, MAX_REASON_CHARACTERS);
    const key = JSON.stringify([workflowId, blockId, text]);
    const existingCount = this.#counts.get(key);
    if (existingCount) {
      existingCount.count += 1;
      existingCount.lastMs = nowMs;
    } else if (this.#counts.size < MAX_WAITING_COUNTS)
      this.#counts.set(key, { workflowId, blockId, reason: text, count: 1, firstMs: nowMs, lastMs: nowMs });
  }

  /** Writes the counts. Never rejects. */
  flush(): Promise<void> {
    const counts = [...this.#counts.values()];
    this.#counts.clear();
    if (counts.length > 0)
      this.#lastFlush = this.#lastFlush.then(() => this.#write(counts)).catch(this.#onError);
    return this.#lastFlush;
  }

  async close(): Promise<void> {
    this.#stopFlushing();
    await this.flush();
  }

  async #write(counts: readonly RefusalCount[]): Promise<void> {
    await this.#db.transaction().execute(async (tx) => {
      for (const count of counts) await write(tx, count);
    });
  }
}

async function write(
  db: Db,
  { workflowId, blockId, reason, count, firstMs, lastMs }: RefusalCount,
): Promise<void> {
  const key = { workflow_id: workflowId, block_id: blockId };
  const { reasonCount } = await db
    .selectFrom('webhook_refusals')
    .select((eb) => eb.fn.countAll<number | string>().as('reasonCount'))
    .where('workflow_id', '=', workflowId)
    .where('block_id', '=', blockId)
    .where('reason', '!=', reason)
    .executeTakeFirstOrThrow();
  const storedReason = Number(reasonCount) < MAX_REASONS ? reason : 'OTHER';
  await db
    .insertInto('webhook_refusals')
    .values({ ...key, reason: storedReason, count, first_ms: firstMs, last_ms: lastMs })
    .onConflict((conflict) =>
      conflict.columns(['workflow_id', 'block_id', 'reason']).doUpdateSet((eb) => ({
        count: eb('webhook_refusals.count', '+', count),
        last_ms: lastMs,
      })),
    )
    .execute();
}

/** Returns the string in a form that SQLite and PostgreSQL can store. */
export function storableText(value: string): string {
  return value.replaceAll('\0', '').toWellFormed();
}
