import type { Area, AreaContext } from '@heddle/api';
import type { TenantCredentials, TenantEnvironments } from '@heddle/engine';
import { createServiceClients } from '../clients.ts';
import type { ClientOptions } from '../clients.ts';
import type { Triggers } from '../triggers.ts';
import type { FeedTrigger } from '@heddle/engine/triggers';
import { FEED_MIGRATIONS } from './migrations.ts';
import { FeedPoller } from './poller.ts';
import { sweepFeeds } from './store.ts';
import type { FeedDb } from './store.ts';

/** Options of the clients that send requests to sources, and the credentials for the sources. */
export interface FeedOptions extends ClientOptions {
  /** Stored credentials of workspaces. Default: none. */
  credentials?: TenantCredentials;
}

/** The services of the open area (a module of the API). */
export interface FeedAreaServices {
  close(): Promise<void>;
}

/** Interval at which the data of deleted triggers is removed. */
const SWEEP_INTERVAL_MS = 3_600_000;

/**
 * Returns the area that polls sources and starts runs for new items. Pass the same `triggers` to the areas of workflows
 * and triggers. `environments` has the values of placeholders such as `{{NAME}}`. Opening the area throws a TypeError
 * if it has no database or no queue.
 */
export function feeds({
  triggers,
  environments,
  options = {},
}: {
  triggers: Triggers;
  environments?: Partial<TenantEnvironments>;
  options?: FeedOptions;
}): Area<FeedAreaServices, Record<never, never>> {
  return {
    name: 'feeds',
    operations: {},
    migrations: FEED_MIGRATIONS,
    services: (context) => openFeeds(context, { triggers, environments, options }),
    close: (services) => services.close(),
  };
}

function openFeeds(
  context: AreaContext,
  dependencies: {
    triggers: Triggers;
    environments: Partial<TenantEnvironments> | undefined;
    options: FeedOptions;
  },
): FeedAreaServices {
  const { queue, database, repeat, onError } = context;
  const { triggers, environments, options } = dependencies;
  if (!queue || !database)
    throw new TypeError('Feeds start asynchronous runs, so `ports.reservations` must have a `queue`.');
  const types = new Map(
    [...triggers.types].filter((entry): entry is [string, FeedTrigger] => entry[1].kind === 'feed'),
  );
  if (types.size === 0) return { close: () => Promise.resolve() };
  const db = database as FeedDb;
  const clients = createServiceClients(options);
  const poller = new FeedPoller({
    ...{ ...context, queue, db, types, environments, ...clients },
    credentials: options.credentials,
    notifyEventsWaiting: () => triggers.notifyEventsWaiting(),
  });
  const stopFunctions = [
    triggers.onChange(() => poller.wake()),
    repeat(SWEEP_INTERVAL_MS, () => void sweepFeeds(db).catch(onError)),
  ];
  return {
    async close() {
      for (const stop of stopFunctions) stop();
      await poller.close();
      await clients.close();
    },
  };
}
