import type { Area, AreaContext } from '@heddle/api';
import { WEBHOOK_PREFIX, webhookReceiver } from '@heddle/api/webhooks';
import type { WebhookReceiver, WebhookReceiverOptions } from '@heddle/api/webhooks';
import type { TenantCredentials, TenantEnvironments } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Sealer } from '../../sealing.ts';
import { createServiceClients } from '../clients.ts';
import type { ClientOptions } from '../clients.ts';
import { RegistrationReconciler } from '../registrations/reconciler.ts';
import { refreshRegistrationUrls } from '../registrations/desired-registrations.ts';
import type { WebhookRegistrationTables } from '../registrations/database.ts';
import type { Triggers } from '../triggers.ts';
import { WEBHOOK_MIGRATIONS } from './migrations.ts';
import { listWebhookDeliveries, listWebhooks, replayWebhookDelivery } from './operations.ts';
import type { WebhookOperationServices } from './operations.ts';
import { DatabaseWebhookStore } from './store.ts';
import type { WebhookServices } from './store.ts';
import type { WebhookTables } from './tables.ts';

/** Time for which deliveries are stored, and duplicates are detected. */
const DELIVERY_RETENTION_MS = 7 * 24 * 3_600_000;
const SWEEP_INTERVAL_MS = 600_000;
/** Maximum number of rows in one statement. */
const BATCH_SIZE = 1000;

const WEBHOOK_OPERATIONS = { listWebhooks, listWebhookDeliveries, replayWebhookDelivery } as const;

/** Options for receiving requests of other systems. */
export interface WebhookOptions extends Pick<
  WebhookReceiverOptions,
  'limits' | 'rate' | 'unknownPathRate' | 'concurrency'
> {
  /** Milliseconds for which deliveries are stored, and duplicates are detected. Default: 7 days. */
  retentionMs?: number;
}

/** Options for creating registrations at providers. */
export interface WebhookRegistrationOptions extends ClientOptions {
  /** The public base URL of the server, such as `https://flows.example.com`. Default: no registrations are created. */
  origin?: string;
}

/** Dependencies of the handlers of the area (a module of the API). */
export interface WebhookAreaServices extends WebhookOperationServices {
  receive: WebhookReceiver;
  stop(): Promise<void>;
}

/** The dependencies of webhooks and of their registrations at providers. */
interface WebhookDependencies {
  environments?: Partial<TenantEnvironments>;
  /** Stored credentials of workspaces. Default: none. */
  credentials?: TenantCredentials | undefined;
  /** Seals the secrets of registrations at providers. Without it, no registrations are created. */
  sealer?: Sealer | undefined;
  webhookRegistrations?: WebhookRegistrationOptions;
}

/**
 * Returns the area that receives requests of other systems and starts runs. Pass the same `triggers` to the areas of
 * workflows and triggers. `environments` has the values of placeholders such as `{{NAME}}`; without it, requests to
 * webhooks whose secret is a placeholder are refused. Opening the area throws a TypeError if it has no database or no
 * queue.
 */
export function webhooks({
  triggers,
  options = {},
  ...dependencies
}: WebhookDependencies & { triggers: Triggers; options?: WebhookOptions }): Area<
  WebhookAreaServices,
  typeof WEBHOOK_OPERATIONS
> {
  return {
    name: 'webhooks',
    operations: WEBHOOK_OPERATIONS,
    migrations: WEBHOOK_MIGRATIONS,
    services: (context) => openWebhooks(context, { ...dependencies, triggers }, options),
    handlers: ({ receive }) => [{ prefix: WEBHOOK_PREFIX, fetch: receive }],
    close: (services) => services.stop(),
  };
}

function openWebhooks(
  context: AreaContext,
  {
    triggers,
    environments,
    credentials,
    sealer,
    webhookRegistrations = {},
  }: WebhookDependencies & { triggers: Triggers },
  { retentionMs = DELIVERY_RETENTION_MS, ...limits }: WebhookOptions,
): WebhookAreaServices {
  const { queue, database, now, repeat, onError } = context;
  if (!queue || !database)
    throw new TypeError('Webhooks start asynchronous runs, so `ports.reservations` must have a `queue`.');
  const db = database as Kysely<WebhookTables>;
  const services: WebhookServices = {
    ...{ ...context, queue, db, environments, credentials, sealer },
    ...{ types: triggers.types, notifyEventsWaiting: () => triggers.notifyEventsWaiting() },
  };
  const store = new DatabaseWebhookStore(services);
  const receive = webhookReceiver({ store, now, repeat, onError, ...limits });
  const stopReconciling =
    sealer && reconcileRegistrations(services, { triggers, sealer, webhookRegistrations });
  const stopSweeping = repeat(
    SWEEP_INTERVAL_MS,
    () => void sweepDeliveries(db, now() - retentionMs).catch(onError),
  );
  return {
    ...services,
    ...{ webhooks: store, receive },
    stop: async () => {
      stopSweeping();
      await stopReconciling?.();
      await store.close();
    },
  };
}

/**
 * Deletes deliveries and counts of refused requests from before `beforeMs`. Several processes may call this at the same
 * time.
 */
export async function sweepDeliveries(db: Kysely<WebhookTables>, beforeMs: number): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await db
      .deleteFrom('webhook_deliveries')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('webhook_deliveries')
          .select('id')
          .where('received_ms', '<', beforeMs)
          .limit(BATCH_SIZE),
      )
      .executeTakeFirst();
    if (Number(numDeletedRows) < BATCH_SIZE) break;
  }
  await db.deleteFrom('webhook_refusals').where('last_ms', '<', beforeMs).execute();
}

/** Creates, renews and removes registrations at providers. Returns a function that stops this. */
function reconcileRegistrations(
  services: WebhookServices,
  {
    triggers,
    sealer,
    webhookRegistrations,
  }: { triggers: Triggers; sealer: Sealer; webhookRegistrations: WebhookRegistrationOptions },
): () => Promise<void> {
  const db = services.db as unknown as Kysely<WebhookRegistrationTables>;
  const { now, onError } = services;
  const clients = createServiceClients(webhookRegistrations);
  const reconciler = new RegistrationReconciler({ ...services, db, sealer, service: clients.service });
  const unsubscribe = triggers.onChange(() => reconciler.checkNow());
  const urlRefresh = refreshRegistrationUrls(db, triggers.registrationDependencies, now)
    .then(() => reconciler.checkNow())
    .catch(onError);
  return async () => {
    unsubscribe();
    await urlRefresh;
    await reconciler.close();
    await clients.close();
  };
}
