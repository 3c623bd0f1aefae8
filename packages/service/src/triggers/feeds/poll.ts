import { v7 as createId } from 'uuid';
import { isApiError } from '@heddle/api';
import type { AreaContext } from '@heddle/api';
import { admitRun } from '@heddle/api/areas';
import type { Release } from '@heddle/api/areas';
import type { NewReservation, QueuedRun, QueuedStart } from '@heddle/api/ports';
import { isEngineError } from '@heddle/core';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core';
import type { TenantCredentials, TenantEnvironments } from '@heddle/engine';
import type { Egress } from '@heddle/sandbox/egress';
import { addQueuedRun } from '../../store/reservations.ts';
import { asyncTimeout, isRetryableRefusal, retryDelayMs } from '../fire.ts';
import type { LiveTrigger } from '../fire.ts';
import { groupIdOf, decideEvent } from '../flow/decide.ts';
import type { FlowEvent } from '../flow/decide.ts';
import { flowPolicyOf } from '../flow/policy.ts';
import { prepareEvent } from '../flow/ended-runs.ts';
import { shortenMessage, healthAfterFailure, HEALTHY_COLUMNS, isTimeout } from '../health.ts';
import { advanceTrigger } from '../advance.ts';
import { fillPlaceholders } from '../placeholders.ts';
import type { TriggerRow } from '../tables.ts';
import type { FeedContext, FeedItem, FeedPoll, FeedTrigger } from '@heddle/engine/triggers';
import {
  claimItem,
  readCursor,
  deleteOldestItems,
  hashOf,
  findStoredItems,
  storeCursor,
  storeSkippedItems,
} from './store.ts';
import type { FeedDb } from './store.ts';

/** Maximum number of runs that one poll starts. */
const MAX_ITEMS = 50;
/** Delay before the first retry of a refused start. It doubles with each retry, up to a minute. */
const RETRY_MS = 2000;
/** Maximum delay of the next poll after a failure, unless the interval of the trigger is longer. */
const MAX_BACKOFF_MS = 3_600_000;
const UNKNOWN_FAILURE = 'The source could not be polled.';

/** Dependencies of polls. */
export type FeedServices = Pick<
  AreaContext,
  'engine' | 'reservations' | 'limiter' | 'usage' | 'concurrency' | 'timeouts' | 'now' | 'onError'
> & {
  queue: NonNullable<AreaContext['queue']>;
  db: FeedDb;
  environments: Partial<TenantEnvironments> | undefined;
  credentials: TenantCredentials | undefined;
  http: Egress;
  /** Resolves with the base URL that the operator has set for a service, and with the client for the service. */
  service: FeedContext['service'];
  /** Reports that events wait for flow control. */
  notifyEventsWaiting: () => void;
};

/** An item with its run, which is not queued yet. The run is admitted, unless flow control holds it. */
interface PreparedItem {
  itemHash: string;
  /** The id of the item in the source. */
  itemId: string;
  run: QueuedRun;
  release: Release | undefined;
  /** The event, if flow control decides about the run. The run is then admitted when it may start. */
  flowEvent: FlowEvent | undefined;
}

/** The items whose runs were admitted. `refusal`: why further runs were not admitted. */
interface Admission {
  items: PreparedItem[];
  refusal: { message: string; isRetryable: boolean } | undefined;
}

/** One poll of the source of a trigger, which this process has claimed. */
export class Poll {
  readonly #services: FeedServices;
  readonly #trigger: LiveTrigger;
  readonly #type: FeedTrigger;
  readonly #config: JsonObject;
  readonly #source: string;
  readonly #signal: AbortSignal;
  /** The items of the poll that are stored, with the times at which they were last seen. */
  readonly #knownItems = new Map<string, number>();
  /** Secrets that the poll has read, by name. They are redacted in inputs, because the source may repeat them. */
  readonly #secrets = new Map<string, string>();

  constructor(
    services: FeedServices,
    { trigger, type, signal }: { trigger: LiveTrigger; type: FeedTrigger; signal: AbortSignal },
  ) {
    this.#services = services;
    this.#trigger = trigger;
    this.#type = type;
    this.#signal = signal;
    this.#config = JSON.parse(trigger.config) as JsonObject;
    this.#source = hashOf(type.type, type.sourceOf(this.#config));
  }

  /** Polls, starts the runs of new items, and advances the trigger. */
  async run(): Promise<void> {
    let context: FeedContext;
    let acceptedIds: string[];
    try {
      context = this.#createContext(await readCursor(this.#services.db, this.#trigger, this.#source));
      const result = await this.#type.poll(this.#config, context);
      acceptedIds = await this.#accept(result, await this.#admitAll(result.items));
    } catch (error) {
      return this.#recordFailure(error);
    }
    if (acceptedIds.length > 0) await this.#confirm(acceptedIds, context);
  }

  #createContext(cursor: JsonObject | undefined): FeedContext {
    const { http, service, environments, credentials, now } = this.#services;
    const { workspace_id: workspaceId } = this.#trigger;
    return {
      ...{ cursor, limit: MAX_ITEMS, http, service, nowMs: now(), signal: this.#signal },
      filterUnknownIds: (ids) => this.#findUnknownIds(ids),
      resolveTemplate: async (template) => {
        const filledTemplate = await fillPlaceholders(environments, workspaceId, template);
        for (const [name, secret] of filledTemplate?.secrets ?? []) this.#secrets.set(name, secret);
        if (filledTemplate) return filledTemplate.text;
        throw feedError(`A {{NAME}} in a field of the trigger has no value in the workspace.`);
      },
      credential: async (id) => {
        const storedCredential = await credentials?.find(workspaceId, { id });
        if (storedCredential) this.#secrets.set(storedCredential.name, storedCredential.secret);
        if (storedCredential) return storedCredential.secret;
        throw feedError('The workspace does not have the stored credential of the trigger.');
      },
    };
  }

  async #findUnknownIds(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const hashes = new Map(ids.map((id) => [id, this.#hash(id)]));
    const storedItems = await findStoredItems(this.#services.db, this.#trigger, [...hashes.values()]);
    for (const [itemHash, seenMs] of storedItems) this.#knownItems.set(itemHash, seenMs);
    return new Set([...hashes].filter(([, itemHash]) => !storedItems.has(itemHash)).map(([id]) => id));
  }

  #hash(id: string): string {
    return hashOf(this.#source, id);
  }

  /** Admits the runs of items, until one is refused. */
  async #admitAll(items: readonly FeedItem[]): Promise<Admission> {
    const preparedItems: PreparedItem[] = [];
    try {
      for (const item of items) preparedItems.push(await this.#admit(item));
      return { items: preparedItems, refusal: undefined };
    } catch (error) {
      if (isApiError(error)) {
        const refusal = { message: error.message, isRetryable: isRetryableRefusal(error) };
        return { items: preparedItems, refusal };
      }
      for (const { release } of preparedItems) release?.();
      throw error;
    }
  }

  async #admit(item: FeedItem): Promise<PreparedItem> {
    const { workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId } = this.#trigger;
    const runId = createId();
    const start = await this.#prepareStart(item);
    const run = { engineRunId: runId, runId, workflowId, workspaceId, start };
    const fields = { itemHash: this.#hash(item.id), itemId: item.id, run };
    const policy = flowPolicyOf(this.#config);
    if (policy) {
      const ids = { id: createId(), runId, workspaceId, workflowId, blockId };
      const origin = { source: 'feed', trigger: 'feed', receivedMs: this.#services.now() } as const;
      const flowEvent = { ...ids, ...origin, policy, start };
      await prepareEvent({ ...this.#services, db: this.#services.db as never }, flowEvent);
      return { ...fields, flowEvent, release: undefined };
    }
    const request = { runId, workflowId, workspaceId, userId: null, mode: 'async' } as const;
    const release = await admitRun(this.#services, request, workspaceId);
    return { ...fields, flowEvent: undefined, release };
  }

  /**
   * Returns the data with which the run starts. Stores its files, and redacts secrets of the workspace in its input.
   */
  async #prepareStart(item: FeedItem): Promise<QueuedStart> {
    const { engine, timeouts } = this.#services;
    const { workflow_id: workflowId, block_id: blockId, engine_version: version } = this.#trigger;
    return {
      input: await engine.redact(workflowId, await this.#prepareInput(item), {
        version,
        secrets: this.#secrets,
      }),
      ...{ version, start: blockId, ownsFiles: true },
      ...asyncTimeout(timeouts),
    };
  }

  /** Returns the input of the run. If the files cannot be stored, the input has only their names, types and sizes. */
  async #prepareInput({ input, files }: FeedItem): Promise<Json> {
    if (!files) return input;
    const { workflow_id: workflowId, block_id: start, engine_version: version } = this.#trigger;
    const options = { version, start, signal: this.#signal, fields: ['files'] };
    try {
      const storedInput = await this.#services.engine.storeFiles(
        workflowId,
        { files: [...files.list] },
        options,
      );
      return files.toInput((storedInput as JsonObject)['files'] ?? []);
    } catch (error) {
      if (isEngineError(error) && error.code === 'INPUT_INVALID') return input;
      throw error;
    }
  }

  /**
   * Claims the items, queues their runs and advances the trigger, in one transaction. Returns the ids of the items that
   * were claimed.
   */
  async #accept(result: FeedPoll, { items, refusal }: Admission): Promise<string[]> {
    const { db, queue, now } = this.#services;
    const nowMs = now();
    const change = this.#columnsAfterPoll(result, { items, refusal, nowMs });
    const queuedItems = new Set<PreparedItem>();
    const acceptedItems = new Set<PreparedItem>();
    try {
      await db.transaction().execute(async (tx) => {
        if (!(await advanceTrigger(tx as never, { trigger: this.#trigger, change }))) return;
        for (const item of sortByGroup(items)) {
          if (!(await this.#storeRun(tx, item, nowMs))) continue;
          acceptedItems.add(item);
          if (!item.flowEvent) queuedItems.add(item);
        }
        await this.#storeProgress(tx, result, { isComplete: refusal === undefined, nowMs });
      });
    } catch (error) {
      queuedItems.clear();
      throw error;
    } finally {
      for (const item of items) if (!queuedItems.has(item)) item.release?.();
    }
    for (const { run, release } of queuedItems) queue.submit({ ...run, release });
    if (acceptedItems.size > queuedItems.size) this.#services.notifyEventsWaiting();
    return [...acceptedItems].map(({ itemId }) => itemId);
  }

  /** Claims the item and stores its run. Returns false if the item has already started a run. */
  async #storeRun(tx: FeedDb, { itemHash, run, flowEvent }: PreparedItem, nowMs: number): Promise<boolean> {
    const { engineRunId, runId, workflowId, workspaceId, start } = run;
    const isNew = await claimItem(tx, this.#trigger, { item: itemHash, run_id: engineRunId, seen_ms: nowMs });
    if (!isNew) return false;
    if (flowEvent) {
      await decideEvent(tx as never, flowEvent);
      return true;
    }
    const createdAt = new Date(nowMs).toISOString();
    const ids = { engineRunId, runId, workflowId, workspaceId };
    const reservation: NewReservation = { ...ids, trigger: 'feed', mode: 'async', createdAt };
    await addQueuedRun(tx as never, reservation, start);
    return true;
  }

  /**
   * Stores the skipped items and the cursor. If runs were refused, the cursor is unchanged, so that the next poll finds
   * their items again.
   */
  async #storeProgress(
    tx: FeedDb,
    { skippedIds, cursor }: FeedPoll,
    { isComplete, nowMs }: { isComplete: boolean; nowMs: number },
  ): Promise<void> {
    const { workflow_id, block_id } = this.#trigger;
    await storeSkippedItems(
      tx,
      this.#trigger,
      skippedIds.map((id) => this.#hash(id)),
      nowMs,
    );
    await deleteOldestItems(tx, this.#trigger, { knownItems: this.#knownItems, nowMs });
    if (!isComplete) return;
    await storeCursor(tx, {
      ...{ workflow_id, block_id, source: this.#source, cursor: JSON.stringify(cursor), polled_ms: nowMs },
    });
  }

  #columnsAfterPoll(
    { hasMore }: FeedPoll,
    { items, refusal, nowMs }: Admission & { nowMs: number },
  ): Partial<TriggerRow> {
    const lastItem = items.at(-1);
    const firedColumns: Partial<TriggerRow> = lastItem
      ? { last_run_id: lastItem.run.engineRunId, last_due_ms: this.#trigger.due_ms, last_fired_ms: nowMs }
      : {};
    const columns = { ...firedColumns, last_check_ms: nowMs };
    if (refusal?.isRetryable) {
      const { attempts } = this.#trigger;
      const dueMs = nowMs + retryDelayMs(RETRY_MS, attempts);
      const retryColumns = { due_ms: dueMs, fire_ms: dueMs, held: 'limits', attempts: attempts + 1 } as const;
      return { ...columns, ...retryColumns, last_error: shortenMessage(refusal.message) };
    }
    if (refusal) return { ...columns, ...this.#columnsAfterFailure(refusal.message, { nowMs }) };
    const dueMs = hasMore ? nowMs : nowMs + this.#type.intervalOf(this.#config);
    return { ...columns, due_ms: dueMs, fire_ms: dueMs, held: null, attempts: 0, ...HEALTHY_COLUMNS };
  }

  /** Returns the change to the trigger after a failure. The delay of the next poll doubles with each failure. */
  #columnsAfterFailure(
    message: string,
    { nowMs, retryAfterMs = 0 }: { nowMs: number; retryAfterMs?: number | undefined },
  ): Partial<TriggerRow> {
    const intervalMs = this.#type.intervalOf(this.#config);
    const backOffMs = intervalMs * 2 ** Math.min(this.#trigger.failures, 10);
    const maxMs = Math.max(intervalMs, MAX_BACKOFF_MS);
    const dueMs = nowMs + Math.min(Math.max(backOffMs, retryAfterMs), maxMs);
    const nextColumns = { due_ms: dueMs, fire_ms: dueMs, held: null, attempts: 0 };
    return { ...nextColumns, ...healthAfterFailure(this.#trigger, message, nowMs) };
  }

  async #recordFailure(error: unknown): Promise<void> {
    // The poll was aborted because this process stops. Another process repeats it.
    const isStopped = this.#signal.aborted && !isTimeout(this.#signal.reason);
    const { db, now, onError } = this.#services;
    const nowMs = now();
    const isExpected = isBlockError(error);
    if (!isExpected && !this.#signal.aborted) onError(error);
    const message = isExpected ? error.message : UNKNOWN_FAILURE;
    const { retryAfterMs } = isExpected ? error : { retryAfterMs: undefined };
    const change = isStopped
      ? { fire_ms: this.#trigger.due_ms }
      : { last_check_ms: nowMs, ...this.#columnsAfterFailure(message, { nowMs, retryAfterMs }) };
    await advanceTrigger(db as never, { trigger: this.#trigger, change });
  }

  /** Confirms the accepted items to the source. A failure is only recorded, because the runs have started. */
  async #confirm(ids: readonly string[], context: FeedContext): Promise<void> {
    try {
      await this.#type.acknowledge?.(this.#config, ids, context);
    } catch (error) {
      if (!isBlockError(error)) this.#services.onError(error);
      const message = isBlockError(error) ? error.message : UNKNOWN_FAILURE;
      await this.#services.db
        .updateTable('triggers')
        .set({ last_error: shortenMessage(message) })
        .where('id', '=', this.#trigger.id)
        .execute();
    }
  }
}

function feedError(message: string): BlockError {
  return new BlockError('FEED_FAILED', message);
}

/**
 * Sorts items by the groups of their events. In this fixed order, transactions of several processes cannot deadlock.
 */
function sortByGroup(items: readonly PreparedItem[]): PreparedItem[] {
  const groups = new Map(items.map((item) => [item, item.flowEvent ? groupIdOf(item.flowEvent) : '']));
  const groupOf = (item: PreparedItem): string => groups.get(item) ?? '';
  return items.toSorted((a, b) => (groupOf(a) < groupOf(b) ? -1 : Number(groupOf(a) > groupOf(b))));
}
