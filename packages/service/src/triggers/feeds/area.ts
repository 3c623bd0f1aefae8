import type { Area, AreaContext } from '@heddle/api';
import type { TenantCredentials, TenantEnvironments } from '@heddle/engine';
import { createEgress, withException } from '@heddle/sandbox/egress';
import type { Egress, EgressPolicy } from '@heddle/sandbox/egress';
import type { Triggers } from '../triggers.ts';
import type { FeedType } from '../types.ts';
import { FEED_MIGRATIONS } from './migrations.ts';
import { FeedPoller } from './poller.ts';
import { sweepFeeds } from './store.ts';
import type { FeedDb } from './store.ts';

/** How sources are reached. */
export interface FeedOptions {
  /** Where polls may connect. Default: public addresses. */
  egress?: EgressPolicy;
  /** Addresses that replace those of services, by name. They may be reached whatever `egress` allows. */
  services?: { readonly [name: string]: string };
  /** Stored credentials of workspaces. Default: none. */
  credentials?: TenantCredentials;
}

/** What the area opens. */
export interface OpenedFeeds {
  close(): Promise<void>;
}

const SWEEP_MS = 3_600_000;

/**
 * Returns the area that polls sources and starts runs for new items. Give the areas of workflows and triggers the same
 * `triggers`. `environments` has the values of `{{NAME}}`. Throws a TypeError, when it is opened, without a database or without
 * a queue.
 */
export function feeds({
  triggers,
  environments,
  options = {},
}: {
  triggers: Triggers;
  environments?: Partial<TenantEnvironments>;
  options?: FeedOptions;
}): Area<OpenedFeeds, Record<never, never>> {
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
  given: { triggers: Triggers; environments: Partial<TenantEnvironments> | undefined; options: FeedOptions },
): OpenedFeeds {
  const { queue, database, every, report } = context;
  const { triggers, environments, options } = given;
  if (!queue || !database)
    throw new TypeError('Feeds need reservations with a queue, because their runs are asynchronous.');
  const types = new Map(
    [...triggers.types].filter((entry): entry is [string, FeedType] => entry[1].kind === 'feed'),
  );
  if (types.size === 0) return { close: () => Promise.resolve() };
  const db = database as FeedDb;
  const clients = clientsOf(options);
  const poller = new FeedPoller({
    ...{ ...context, queue, db, types, environments, ...clients },
    credentials: options.credentials,
    held: () => triggers.held(),
  });
  const stops = [
    triggers.onChange(() => poller.wake()),
    every(SWEEP_MS, () => void sweepFeeds(db).catch(report)),
  ];
  return {
    async close() {
      for (const stop of stops) stop();
      await poller.close();
      await clients.close();
    },
  };
}

/** Returns the clients of polls: one for all addresses, and one for each service whose address the operator has set. */
function clientsOf({ egress = {}, services = {} }: FeedOptions) {
  const http = createEgress(egress);
  const own = new Map<string, Egress>();
  for (const [name, address] of Object.entries(services))
    if (/^https?:/i.test(address)) own.set(name, createEgress(withException(egress, address)));
  return {
    http,
    service: (name: string) =>
      Promise.resolve({
        address: Object.hasOwn(services, name) ? services[name] : undefined,
        http: own.get(name) ?? http,
      }),
    async close() {
      await Promise.all([http, ...own.values()].map((client) => client.close()));
    },
  };
}
