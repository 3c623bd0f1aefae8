import type { Area, AreaContext } from '@heddle/api';
import { WEBHOOK_PREFIX, webhookReceiver } from '@heddle/api/webhooks';
import type { WebhookReceiver, WebhookReceiverOptions } from '@heddle/api/webhooks';
import type { TenantEnvironments } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Triggers } from '../triggers.ts';
import { WEBHOOK_MIGRATIONS } from './migrations.ts';
import { listWebhookDeliveries, listWebhooks, replayWebhookDelivery } from './operations.ts';
import type { OpenedWebhooks } from './operations.ts';
import { DELIVERY_RETENTION_MS, SWEEP_MS, sweepDeliveries } from './retention.ts';
import { ServiceWebhooks } from './store.ts';
import type { WebhookServices } from './store.ts';
import type { WebhookTables } from './tables.ts';

const WEBHOOKS = { listWebhooks, listWebhookDeliveries, replayWebhookDelivery } as const;

/** How requests of other systems are received. */
export interface WebhookOptions extends Pick<
  WebhookReceiverOptions,
  'limits' | 'rate' | 'unknownRate' | 'atOnce'
> {
  /** Milliseconds for which deliveries are kept; a duplicate is noticed for this long. Default: 7 days. */
  retentionMs?: number;
}

/** What the handlers of the area use. */
export interface ServedWebhooks extends OpenedWebhooks {
  receive: WebhookReceiver;
  stop(): Promise<void>;
}

/**
 * Returns the area that receives requests of other systems and starts runs. Give the areas of workflows and triggers the same
 * `triggers`. `environments` has the secrets: without it, `{{NAME}}` is not a secret that any request has. Throws a TypeError,
 * when it is opened, without a database or without a queue.
 */
export function webhooks({
  triggers,
  environments,
  options = {},
}: {
  triggers: Triggers;
  environments?: Partial<TenantEnvironments>;
  options?: WebhookOptions;
}): Area<ServedWebhooks, typeof WEBHOOKS> {
  return {
    name: 'webhooks',
    operations: WEBHOOKS,
    migrations: WEBHOOK_MIGRATIONS,
    services: (context) =>
      openWebhooks(context, { types: triggers.types, environments, held: () => triggers.held() }, options),
    handlers: ({ receive }) => [{ prefix: WEBHOOK_PREFIX, fetch: receive }],
    close: (services) => services.stop(),
  };
}

function openWebhooks(
  context: AreaContext,
  given: Pick<WebhookServices, 'types' | 'environments' | 'held'>,
  { retentionMs = DELIVERY_RETENTION_MS, ...limits }: WebhookOptions,
): ServedWebhooks {
  const { queue, database, now, every, report } = context;
  if (!queue || !database)
    throw new TypeError('Webhooks need reservations with a queue, because their runs are asynchronous.');
  const db = database as Kysely<WebhookTables>;
  const services: WebhookServices = { ...context, queue, db, ...given };
  const stored = new ServiceWebhooks(services);
  const receive = webhookReceiver({ store: stored, now, every, onError: report, ...limits });
  const stopSweeping = every(SWEEP_MS, () => void sweepDeliveries(db, now() - retentionMs).catch(report));
  return {
    ...services,
    ...{ webhooks: stored, receive },
    stop: async () => {
      stopSweeping();
      await stored.close();
    },
  };
}
