import { v7 as newId } from 'uuid';
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
import { addQueued } from '../../store/reservations.ts';
import { asyncLimit, isRefusedForNow, retryDelayMs } from '../fire.ts';
import type { LiveTrigger } from '../fire.ts';
import { groupIdOf, placeEvent } from '../flow/place.ts';
import type { FlowEvent } from '../flow/place.ts';
import { flowOf } from '../flow/policy.ts';
import { prepareEvent } from '../flow/settle.ts';
import { errorText, failed, HEALTHY } from '../health.ts';
import { moveTrigger } from '../move.ts';
import { filledText } from '../placeholders.ts';
import type { TriggerRow } from '../tables.ts';
import type { FeedCall, FeedItem, FeedPoll, FeedTrigger } from '@heddle/engine/triggers';
import { boundItems, claimItem, cursorOf, hashOf, knownItems, passItems, storeCursor } from './store.ts';
import type { FeedDb } from './store.ts';

/** Maximum number of runs that one poll starts. */
const MAX_ITEMS = 50;
/** First delay before a start that limits refused is retried. It grows with each retry. */
const WAIT_MS = 2000;
/** Maximum time until a source that fails is polled again, unless its interval is longer. */
const MAX_BACKOFF_MS = 3_600_000;
const UNKNOWN_FAILURE = 'The source could not be polled.';

/** Dependencies of polls. */
export type FeedServices = Pick<
  AreaContext,
  'engine' | 'reservations' | 'limiter' | 'usage' | 'concurrency' | 'policy' | 'now' | 'report'
> & {
  queue: NonNullable<AreaContext['queue']>;
  db: FeedDb;
  environments: Partial<TenantEnvironments> | undefined;
  credentials: TenantCredentials | undefined;
  http: Egress;
  /** The addresses that the operator has configured for services, with the clients that reach them. */
  service: FeedCall['service'];
  /** Reports that events wait for flow control. */
  held: () => void;
};

/** A run that was admitted and is not queued yet. */
interface AdmittedItem {
  /** Hash of the item. */
  item: string;
  /** The id of the item in the source. */
  id: string;
  run: QueuedRun;
  release: Release | undefined;
  /** The event, if flow control decides about the run. */
  held: FlowEvent | undefined;
}

/** The admitted runs of items. `refused`: why further runs were not admitted. */
interface Admission {
  runs: AdmittedItem[];
  refused: { message: string; isForNow: boolean } | undefined;
}

/** One poll of the source of a trigger, which this process has claimed. */
export class Poll {
  readonly #services: FeedServices;
  readonly #trigger: LiveTrigger;
  readonly #type: FeedTrigger;
  readonly #config: JsonObject;
  readonly #source: string;
  readonly #signal: AbortSignal;
  /** The items of the poll that are stored, with the times at which they were marked. */
  readonly #known = new Map<string, number>();
  /** Secrets that the poll has read, by name. The source may repeat them. */
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
    let call: FeedCall;
    let accepted: string[];
    try {
      call = this.#call(await cursorOf(this.#services.db, this.#trigger, this.#source));
      const found = await this.#type.poll(this.#config, call);
      accepted = await this.#accept(found, await this.#admitted(found.items));
    } catch (error) {
      return this.#failed(error);
    }
    if (accepted.length > 0) await this.#confirm(accepted, call);
  }

  #call(cursor: JsonObject | undefined): FeedCall {
    const { http, service, environments, credentials, now } = this.#services;
    const { workspace_id: workspaceId } = this.#trigger;
    return {
      ...{ cursor, limit: MAX_ITEMS, http, service, nowMs: now(), signal: this.#signal },
      unknown: (ids) => this.#unknown(ids),
      text: async (template) => {
        const filled = await filledText(environments, workspaceId, template);
        for (const [name, secret] of filled?.secrets ?? []) this.#secrets.set(name, secret);
        if (filled) return filled.text;
        throw failure(`A {{NAME}} in a field of the trigger has no value in the workspace.`);
      },
      credential: async (id) => {
        const found = await credentials?.find(workspaceId, { id });
        if (found) this.#secrets.set(found.name, found.secret);
        if (found) return found.secret;
        throw failure('The workspace does not have the stored credential of the trigger.');
      },
    };
  }

  async #unknown(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const hashes = new Map(ids.map((id) => [id, this.#hash(id)]));
    const known = await knownItems(this.#services.db, this.#trigger, [...hashes.values()]);
    for (const [item, seen] of known) this.#known.set(item, seen);
    return new Set([...hashes].filter(([, item]) => !known.has(item)).map(([id]) => id));
  }

  #hash(id: string): string {
    return hashOf(this.#source, id);
  }

  /** Admits the runs of items, until one is refused. */
  async #admitted(items: readonly FeedItem[]): Promise<Admission> {
    const runs: AdmittedItem[] = [];
    try {
      for (const item of items) runs.push(await this.#admit(item));
      return { runs, refused: undefined };
    } catch (error) {
      if (isApiError(error)) {
        const refused = { message: error.message, isForNow: isRefusedForNow(error) };
        return { runs, refused };
      }
      for (const { release } of runs) release?.();
      throw error;
    }
  }

  async #admit(item: FeedItem): Promise<AdmittedItem> {
    const { workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId } = this.#trigger;
    const runId = newId();
    const start = await this.#startOf(item);
    const run = { engineId: runId, runId, workflowId, workspaceId, start };
    const admitted = { item: this.#hash(item.id), id: item.id, run };
    const policy = flowOf(this.#config);
    if (policy) {
      const ids = { id: newId(), runId, workspaceId, workflowId, blockId };
      const about = { source: 'feed', trigger: 'feed', receivedMs: this.#services.now() } as const;
      const held = { ...ids, ...about, policy, start };
      await prepareEvent({ ...this.#services, db: this.#services.db as never }, held);
      return { ...admitted, held, release: undefined };
    }
    const request = { runId, workflowId, workspaceId, userId: null, mode: 'async' } as const;
    return { ...admitted, held: undefined, release: await admitRun(this.#services, request, workspaceId) };
  }

  /** Returns the start of the run: its files are stored, and its input has no secrets of the workspace. */
  async #startOf(item: FeedItem): Promise<QueuedStart> {
    const { engine, policy } = this.#services;
    const { workflow_id: workflowId, block_id: blockId, engine_version: version } = this.#trigger;
    return {
      input: await engine.redact(workflowId, await this.#inputOf(item), { version, secrets: this.#secrets }),
      ...{ version, start: blockId, ownsFiles: true },
      ...asyncLimit(policy),
    };
  }

  /** Returns the input of the run. If the files cannot be stored, the input has only their names, types and sizes. */
  async #inputOf({ input, files }: FeedItem): Promise<Json> {
    if (!files) return input;
    const { workflow_id: workflowId, block_id: start, engine_version: version } = this.#trigger;
    const options = { version, start, signal: this.#signal, fields: ['files'] };
    try {
      const taken = await this.#services.engine.takeFiles(workflowId, { files: [...files.list] }, options);
      return files.into((taken as JsonObject)['files'] ?? []);
    } catch (error) {
      if (isEngineError(error) && error.code === 'INPUT_INVALID') return input;
      throw error;
    }
  }

  /** Claims the items, queues their runs and advances the trigger, in one transaction. Returns the ids of the items. */
  async #accept(found: FeedPoll, { runs, refused }: Admission): Promise<string[]> {
    const { db, queue, now } = this.#services;
    const nowMs = now();
    const change = this.#changeAfter(found, { runs, refused, nowMs });
    const queued = new Set<AdmittedItem>();
    const accepted = new Set<AdmittedItem>();
    try {
      await db.transaction().execute(async (tx) => {
        if (!(await moveTrigger(tx as never, { trigger: this.#trigger, change }))) return;
        for (const run of inGroups(runs)) {
          if (!(await this.#take(tx, run, nowMs))) continue;
          accepted.add(run);
          if (!run.held) queued.add(run);
        }
        await this.#remember(tx, found, { isComplete: refused === undefined, nowMs });
      });
    } catch (error) {
      queued.clear();
      throw error;
    } finally {
      for (const run of runs) if (!queued.has(run)) run.release?.();
    }
    for (const { run, release } of queued) queue.submit({ ...run, release });
    if (accepted.size > queued.size) this.#services.held();
    return [...accepted].map(({ id }) => id);
  }

  /** Claims the item and stores its run. Returns false if the item has already started a run. */
  async #take(tx: FeedDb, { item, run, held }: AdmittedItem, nowMs: number): Promise<boolean> {
    const { engineId, runId, workflowId, workspaceId, start } = run;
    const isNew = await claimItem(tx, this.#trigger, { item, run_id: engineId, seen_ms: nowMs });
    if (!isNew) return false;
    if (held) {
      await placeEvent(tx as never, held);
      return true;
    }
    const createdAt = new Date(nowMs).toISOString();
    const ids = { engineId, runId, workflowId, workspaceId };
    const reservation: NewReservation = { ...ids, trigger: 'feed', mode: 'async', createdAt };
    await addQueued(tx as never, reservation, start);
    return true;
  }

  /**
   * Stores the skipped items and the position. If runs were refused, the position is unchanged, so that the next poll
   * finds their items again.
   */
  async #remember(
    tx: FeedDb,
    { passed, cursor }: FeedPoll,
    { isComplete, nowMs }: { isComplete: boolean; nowMs: number },
  ): Promise<void> {
    const { workflow_id, block_id } = this.#trigger;
    await passItems(
      tx,
      this.#trigger,
      passed.map((id) => this.#hash(id)),
      nowMs,
    );
    await boundItems(tx, this.#trigger, { known: this.#known, nowMs });
    if (!isComplete) return;
    await storeCursor(tx, {
      ...{ workflow_id, block_id, source: this.#source, cursor: JSON.stringify(cursor), polled_ms: nowMs },
    });
  }

  #changeAfter(
    { hasMore }: FeedPoll,
    { runs, refused, nowMs }: Admission & { nowMs: number },
  ): Partial<TriggerRow> {
    const last = runs.at(-1);
    const fired: Partial<TriggerRow> = last
      ? { last_run_id: last.run.engineId, last_due_ms: this.#trigger.due_ms, last_fired_ms: nowMs }
      : {};
    const checked = { ...fired, last_check_ms: nowMs };
    if (refused?.isForNow) {
      const { attempts } = this.#trigger;
      const dueMs = nowMs + retryDelayMs(WAIT_MS, attempts);
      const waits = { due_ms: dueMs, fire_ms: dueMs, held: 'limits', attempts: attempts + 1 } as const;
      return { ...checked, ...waits, last_error: errorText(refused.message) };
    }
    if (refused) return { ...checked, ...this.#backOff(refused.message, { nowMs }) };
    const dueMs = hasMore ? nowMs : nowMs + this.#type.intervalOf(this.#config);
    return { ...checked, due_ms: dueMs, fire_ms: dueMs, held: null, attempts: 0, ...HEALTHY };
  }

  /** Returns the change after a failure: the next poll comes later each time. */
  #backOff(
    message: string,
    { nowMs, retryAfterMs = 0 }: { nowMs: number; retryAfterMs?: number | undefined },
  ): Partial<TriggerRow> {
    const intervalMs = this.#type.intervalOf(this.#config);
    const backOffMs = intervalMs * 2 ** Math.min(this.#trigger.failures, 10);
    const most = Math.max(intervalMs, MAX_BACKOFF_MS);
    const dueMs = nowMs + Math.min(Math.max(backOffMs, retryAfterMs), most);
    const next = { due_ms: dueMs, fire_ms: dueMs, held: null, attempts: 0 };
    return { ...next, ...failed(this.#trigger, message, nowMs) };
  }

  async #failed(error: unknown): Promise<void> {
    // This process stops, so another process makes the next poll.
    const isStopped = this.#signal.aborted && !isTimeout(this.#signal.reason);
    const { db, now, report } = this.#services;
    const nowMs = now();
    const isKnown = isBlockError(error);
    if (!isKnown && !this.#signal.aborted) report(error);
    const message = isKnown ? error.message : UNKNOWN_FAILURE;
    const { retryAfterMs } = isKnown ? error : { retryAfterMs: undefined };
    const change = isStopped
      ? { fire_ms: this.#trigger.due_ms }
      : { last_check_ms: nowMs, ...this.#backOff(message, { nowMs, retryAfterMs }) };
    await moveTrigger(db as never, { trigger: this.#trigger, change });
  }

  /** Confirms the accepted items to the source. A failure is only shown, because the runs have started. */
  async #confirm(ids: readonly string[], call: FeedCall): Promise<void> {
    try {
      await this.#type.accepted?.(this.#config, ids, call);
    } catch (error) {
      if (!isBlockError(error)) this.#services.report(error);
      const message = isBlockError(error) ? error.message : UNKNOWN_FAILURE;
      await this.#services.db
        .updateTable('triggers')
        .set({ last_error: errorText(message) })
        .where('id', '=', this.#trigger.id)
        .execute();
    }
  }
}

function failure(message: string): BlockError {
  return new BlockError('FEED_FAILED', message);
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** Sorts runs by their groups. In this fixed order, transactions of several processes cannot deadlock. */
function inGroups(runs: readonly AdmittedItem[]): AdmittedItem[] {
  const groups = new Map(runs.map((run) => [run, run.held ? groupIdOf(run.held) : '']));
  const groupOf = (run: AdmittedItem): string => groups.get(run) ?? '';
  return runs.toSorted((a, b) => (groupOf(a) < groupOf(b) ? -1 : Number(groupOf(a) > groupOf(b))));
}
