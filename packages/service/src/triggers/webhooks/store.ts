import { v7 as createId } from 'uuid';
import type { AreaContext } from '@heddle/api';
import { admitRun } from '@heddle/api/areas';
import { waitForRunResponse } from '@heddle/api/webhooks';
import type { Release } from '@heddle/api/areas';
import type { QueuedStart } from '@heddle/api/ports';
import type {
  AcceptedEvent,
  FoundWebhook,
  WebhookEvent,
  WebhookStore,
  WebhookType,
} from '@heddle/api/webhooks';
import type { Json, JsonObject } from '@heddle/core';
import type { TenantCredentials, TenantEnvironments } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { compiledQueryForMany } from '../../store/compiled-query.ts';
import type { Sealer } from '../../sealing.ts';
import { asyncTimeout } from '../fire.ts';
import { findRegistrationSecret } from '../registrations/secret.ts';
import type { WebhookTriggerType, TriggerType } from '../types.ts';
import type { FlowDecision } from '../flow/decide.ts';
import { flowPolicyOf } from '../flow/policy.ts';
import type { FlowPolicy } from '@heddle/engine/triggers';
import { prepareEvent } from '../flow/ended-runs.ts';
import { fillPlaceholders } from '../placeholders.ts';
import { Batcher } from '../../store/batcher.ts';
import { DeliveryStore } from './delivery-store.ts';
import type { NewDelivery, StoreResult } from './delivery-store.ts';
import { RefusalCounter, storableText } from './refusals.ts';
import type { WebhookTables } from './tables.ts';

type Db = Kysely<WebhookTables>;

/** Dependencies for receiving requests. */
export type WebhookServices = Pick<
  AreaContext,
  'engine' | 'reservations' | 'limiter' | 'usage' | 'concurrency' | 'timeouts' | 'now' | 'onError' | 'repeat'
> & {
  queue: NonNullable<AreaContext['queue']>;
  db: Db;
  types: ReadonlyMap<string, TriggerType>;
  environments: Partial<TenantEnvironments> | undefined;
  credentials: TenantCredentials | undefined;
  /** Opens the secrets of registrations at providers. */
  sealer: Sealer | undefined;
  /** Reports that an event waits for flow control. */
  notifyEventsWaiting: () => void;
};

/** A webhook of a live version, with its block. */
export interface StoredWebhook extends FoundWebhook {
  workflowId: string;
  blockId: string;
  version: number;
  engineVersion: number;
}

/** Maximum wait for the response of a run, unless the timeouts have a shorter limit. */
const MAX_RESPONSE_WAIT_MS = 30_000;
const MAX_CONTENT_TYPE_CHARACTERS = 200;
/** Maximum number of paths in one query. */
const MAX_PATHS_PER_QUERY = 64;

interface WebhookRow {
  path: string;
  workspace_id: string;
  workflow_id: string;
  block_id: string;
  type: string;
  config: string;
  version: number;
  engine_version: number;
}

/** Returns the statement that finds webhooks by their paths. The dummy values stand for the parameters of a call. */
function createFindStatement() {
  return compiledQueryForMany<WebhookTables, WebhookRow>((db, count) =>
    db
      .selectFrom('webhook_paths')
      .innerJoin('triggers', (join) =>
        join
          .onRef('triggers.workflow_id', '=', 'webhook_paths.workflow_id')
          .onRef('triggers.block_id', '=', 'webhook_paths.block_id'),
      )
      .innerJoin('workflows', (join) =>
        join
          .onRef('workflows.id', '=', 'triggers.workflow_id')
          .onRef('workflows.active_version', '=', 'triggers.version'),
      )
      .select([
        'webhook_paths.path',
        'triggers.workspace_id',
        'triggers.workflow_id',
        'triggers.block_id',
        'triggers.type',
      ])
      .select(['triggers.config', 'triggers.version', 'triggers.engine_version'])
      .where('webhook_paths.path', 'in', Array<string>(count).fill(''))
      .where('webhook_paths.is_current', '=', 1)
      .where('triggers.state', '=', 'active')
      .where('workflows.archived_at', 'is', null),
  ) as (db: Db, count: number, values: readonly unknown[]) => Promise<WebhookRow[]>;
}

/** The webhooks of deployed workflows, in the tables of the service. */
export class DatabaseWebhookStore implements WebhookStore {
  readonly #services: WebhookServices;
  readonly #deliveries: DeliveryStore;
  readonly #refusals: RefusalCounter;
  readonly #findRows = createFindStatement();
  /** Reads each path once for all requests that arrive in one iteration of the event loop. */
  readonly #pathReads: Batcher<string, WebhookRow | undefined>;

  constructor(services: WebhookServices) {
    this.#services = services;
    this.#deliveries = new DeliveryStore(services.db);
    this.#refusals = new RefusalCounter(services);
    this.#pathReads = new Batcher(MAX_PATHS_PER_QUERY, (paths) => this.#readRows(paths));
  }

  async find(path: string): Promise<StoredWebhook | undefined> {
    const row = await this.#services.queue.whileAccepting(() => this.#pathReads.add(path));
    const type = row && this.#services.types.get(row.type);
    return type?.kind === 'webhook' ? toStoredWebhook(row as WebhookRow, type) : undefined;
  }

  async #readRows(paths: readonly string[]): Promise<(WebhookRow | undefined)[]> {
    const distinctPaths = [...new Set(paths)];
    const rows = await this.#findRows(this.#services.db, distinctPaths.length, [
      ...distinctPaths,
      1,
      'active',
    ]);
    const rowsByPath = new Map(rows.map((row) => [row.path, row]));
    return paths.map((path) => rowsByPath.get(path));
  }

  async secretsOf(webhook: FoundWebhook): Promise<readonly string[]> {
    const { type, config, workspaceId } = webhook;
    const { environments, credentials } = this.#services;
    const filledText = await fillPlaceholders(environments, workspaceId, type.secretOf(config) ?? '');
    const id = type.secretCredentialOf?.(config);
    const credential = id === undefined ? undefined : await credentials?.find(workspaceId, { id });
    // A string in which a `{{NAME}}` has no value is not a secret, because the rest of the text could be guessed.
    const lines = filledText?.text.split(/\r?\n/) ?? [];
    // A credential is not split into lines: the lines of a key file, such as "{", can be guessed.
    const secrets = [
      ...lines,
      credential?.secret.trim() ?? '',
      (await this.#findRegistrationSecret(webhook)) ?? '',
    ];
    return secrets.filter((secret) => secret !== '');
  }

  /** Returns the secret that was generated for the registration of a trigger; undefined if there is none. */
  async #findRegistrationSecret(webhook: FoundWebhook): Promise<string | undefined> {
    const { db, sealer } = this.#services;
    const { workflowId: workflow_id, blockId: block_id } = webhook as StoredWebhook;
    const type: WebhookTriggerType = webhook.type;
    if (!sealer || type.registrar?.locationOf(webhook.config) === undefined) return undefined;
    return findRegistrationSecret(db as never, sealer, { workflow_id, block_id });
  }

  async accept(webhook: FoundWebhook, event: WebhookEvent): Promise<AcceptedEvent | undefined> {
    return this.acceptDelivery(webhook as StoredWebhook, event);
  }

  /**
   * Accepts the event. `replayOf`: the id of the delivery that is replayed. Returns undefined if the version is no
   * longer live.
   */
  async acceptDelivery(
    webhook: StoredWebhook,
    event: WebhookEvent,
    replayOf: string | null = null,
  ): Promise<AcceptedEvent | undefined> {
    const firstRunId = await this.#findFirstRunId(webhook, event);
    if (firstRunId !== undefined) return this.#createAcceptedEvent(firstRunId, { isDuplicate: true });
    const row = this.#rowOf(webhook, event, replayOf);
    const start = await this.#prepareStart(webhook, event.input);
    const policy = flowPolicyOf(webhook.config);
    const result = policy
      ? await this.#storeWaitingDelivery({ row, start }, policy)
      : await this.#storeAndQueue({ row, start }, webhook);
    if (result === 'not live') return undefined;
    if (result === 'stored') return this.#createAcceptedEvent(row.run_id);
    if ('decision' in result)
      return this.#createAcceptedEvent(result.decision.runId, { flow: result.decision });
    await this.#countDuplicate(webhook, event);
    return this.#createAcceptedEvent(result.duplicateOf, { isDuplicate: true });
  }

  /** Stores the delivery, and starts its run. */
  async #storeAndQueue({ row, start }: NewDelivery, webhook: StoredWebhook): Promise<StoreResult> {
    const { run_id: runId, workflow_id: workflowId, workspace_id: workspaceId } = row;
    const release = await this.#admit(webhook, runId);
    let result: StoreResult | undefined;
    try {
      result = await this.#services.queue.whileAccepting(() => this.#deliveries.store({ row, start }));
    } finally {
      if (result !== 'stored') release?.();
    }
    if (result === 'stored')
      this.#services.queue.submit({ engineRunId: runId, runId, workflowId, workspaceId, start, release });
    return result;
  }

  /** Stores the delivery of a webhook with flow control. Its run is admitted when it may start. */
  async #storeWaitingDelivery({ row, start }: NewDelivery, policy: FlowPolicy): Promise<StoreResult> {
    const { id, run_id: runId, workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId } = row;
    const origin = { source: 'webhook', trigger: 'webhook', receivedMs: row.received_ms } as const;
    const flowEvent = { id, runId, workspaceId, workflowId, blockId, ...origin, policy, start };
    await prepareEvent({ ...this.#services, db: this.#services.db as never }, flowEvent);
    const result = await this.#deliveries.store({ row, start, flowEvent });
    if (typeof result === 'object' && 'decision' in result) this.#services.notifyEventsWaiting();
    return result;
  }

  #rowOf(
    { workflowId, workspaceId, blockId, version }: StoredWebhook,
    { deliveryId, event, method, contentType, byteLength }: WebhookEvent,
    replayOf: string | null,
  ): NewDelivery['row'] {
    return {
      ...{ id: createId(), run_id: createId(), workspace_id: workspaceId, workflow_id: workflowId },
      ...{ block_id: blockId, version, delivery_id: deliveryId ?? null, replay_of: replayOf },
      ...{ event: event === undefined ? null : storableText(event), method },
      content_type: storableText(contentType).slice(0, MAX_CONTENT_TYPE_CHARACTERS),
      ...{ bytes: byteLength, received_ms: this.#services.now() },
    };
  }

  recordRefusal(webhook: FoundWebhook, reason: string): void {
    this.#refusals.add(webhook as StoredWebhook, reason, this.#services.now());
  }

  /** Writes the counts of refused requests. */
  flush(): Promise<void> {
    return this.#refusals.flush();
  }

  async close(): Promise<void> {
    await this.#deliveries.close();
    await this.#refusals.close();
  }

  /** Returns the id of the run of an earlier delivery with the same id, and counts the duplicate. */
  async #findFirstRunId(webhook: StoredWebhook, event: WebhookEvent): Promise<string | undefined> {
    if (event.deliveryId === undefined) return undefined;
    const { workflowId: workflow_id, blockId: block_id } = webhook;
    const runId = await this.#deliveries.findFirstRunId({
      workflow_id,
      block_id,
      delivery_id: event.deliveryId,
    });
    if (runId !== undefined) await this.#countDuplicate(webhook, event);
    return runId;
  }

  async #countDuplicate({ workflowId, blockId }: StoredWebhook, { deliveryId }: WebhookEvent): Promise<void> {
    const { db, now } = this.#services;
    await db
      .updateTable('webhook_deliveries')
      .set((eb) => ({ duplicates: eb('duplicates', '+', 1), last_duplicate_ms: now() }))
      .where('workflow_id', '=', workflowId)
      .where('block_id', '=', blockId)
      .where('delivery_id', '=', deliveryId ?? '')
      .execute();
  }

  /**
   * Stores the files of the input, redacts the secrets of the workspace in it, and returns the start of the run. Throws
   * 400 if a file is rejected.
   */
  async #prepareStart(
    { workflowId, blockId, engineVersion }: StoredWebhook,
    input: JsonObject,
  ): Promise<QueuedStart> {
    const { engine, timeouts } = this.#services;
    const storedInput = await engine.storeFiles(workflowId, input as Json, {
      version: engineVersion,
      start: blockId,
    });
    return {
      input: await engine.redact(workflowId, storedInput, { version: engineVersion }),
      ...{ version: engineVersion, start: blockId, ownsFiles: true },
      ...asyncTimeout(timeouts),
    };
  }

  #admit({ workflowId, workspaceId }: StoredWebhook, runId: string): Promise<Release | undefined> {
    const request = { runId, workflowId, workspaceId, userId: null, mode: 'async' } as const;
    return admitRun(this.#services, request, workspaceId);
  }

  #createAcceptedEvent(
    runId: string,
    { isDuplicate = false, flow }: { isDuplicate?: boolean; flow?: FlowDecision } = {},
  ): AcceptedEvent {
    const { syncSeconds } = this.#services.timeouts;
    const waitMs = Math.min(MAX_RESPONSE_WAIT_MS, (syncSeconds ?? Infinity) * 1000);
    return {
      ...{ runId, isDuplicate },
      ...(flow && { flow: { state: flow.state, reason: flow.reason } }),
      waitForResponse: (signal) => waitForRunResponse(this.#services, runId, { signal, waitMs }),
    };
  }
}

function toStoredWebhook(row: WebhookRow, type: WebhookType): StoredWebhook {
  const { workflow_id: workflowId, block_id: blockId } = row;
  return {
    ...{ key: `${workflowId} ${blockId}`, workspaceId: row.workspace_id, workflowId, blockId, type },
    config: JSON.parse(row.config) as JsonObject,
    ...{ version: row.version, engineVersion: row.engine_version },
  };
}
