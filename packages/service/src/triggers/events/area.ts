import type { Area, AreaContext } from '@heddle/api';
import type { Kysely } from 'kysely';
import type { Triggers } from '../triggers.ts';
import type { EventTriggerType } from '../types.ts';
import { EventDispatcher } from './dispatcher.ts';
import { EVENT_MIGRATIONS } from './migrations.ts';
import type { EventTables } from './tables.ts';

/** The services of the open area (a module of the API). */
export interface EventAreaServices {
  close(): Promise<void>;
}

/**
 * Returns the area that starts runs for events of a workspace. Pass the same `triggers` to the
 * areas of workflows and triggers. Opening the area throws a TypeError if it has no database or no queue.
 */
export function events({ triggers }: { triggers: Triggers }): Area<EventAreaServices, Record<never, never>> {
  return {
    name: 'events',
    operations: {},
    migrations: EVENT_MIGRATIONS,
    services: (context) => openEvents(context, triggers),
    close: (services) => services.close(),
  };
}

function openEvents(context: AreaContext, triggers: Triggers): EventAreaServices {
  const { queue, database } = context;
  if (!queue || !database)
    throw new TypeError(
      'Event triggers start asynchronous runs, so `ports.reservations` must have a `queue`.',
    );
  const types = new Map(
    [...triggers.types].filter((entry): entry is [string, EventTriggerType] => entry[1].kind === 'event'),
  );
  if (types.size === 0) return { close: () => Promise.resolve() };
  const db = database as Kysely<EventTables>;
  const notifyEventsWaiting = (): void => triggers.notifyEventsWaiting();
  const dispatcher = new EventDispatcher({ ...context, queue, db, types, notifyEventsWaiting });
  const unsubscribe = triggers.onChange(() => dispatcher.wake());
  return {
    close: async () => {
      unsubscribe();
      await dispatcher.close();
    },
  };
}
