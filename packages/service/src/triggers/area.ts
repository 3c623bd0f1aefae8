import type { Area, AreaContext } from '@heddle/api';
import type { Db } from './fire.ts';
import { TRIGGER_MIGRATIONS } from './migrations.ts';
import {
  backfillTrigger,
  getTrigger,
  listTriggers,
  pauseTrigger,
  resumeTrigger,
  runTrigger,
} from './operations.ts';
import type { TriggerServices } from './operations.ts';
import { listTriggerEvents } from './flow/operations.ts';
import { FlowReleaser } from './flow/releaser.ts';
import { Scheduler } from './scheduler.ts';
import type { Triggers } from './triggers.ts';
import type { ScheduleType } from './types.ts';

export const TRIGGER_OPERATIONS = {
  listTriggers,
  getTrigger,
  pauseTrigger,
  resumeTrigger,
  runTrigger,
  backfillTrigger,
  listTriggerEvents,
} as const;

export interface TriggerAreaServices extends TriggerServices {
  close(): Promise<void>;
}

/**
 * Returns the area (a module of the API) of triggers. It starts their runs when they are due. Pass the same `triggers`
 * to the area of workflows. Opening the area throws a TypeError if it has no database or no queue.
 */
export function triggers({
  triggers: registry,
}: {
  triggers: Triggers;
}): Area<TriggerAreaServices, typeof TRIGGER_OPERATIONS> {
  return {
    name: 'triggers',
    operations: TRIGGER_OPERATIONS,
    migrations: TRIGGER_MIGRATIONS,
    services: (context) => openTriggers(context, registry),
    close: (services) => services.close(),
  };
}

function openTriggers(context: AreaContext, registry: Triggers): TriggerAreaServices {
  const { queue, database, repeat } = context;
  if (!queue || !database)
    throw new TypeError('Triggers start asynchronous runs, so `ports.reservations` must have a `queue`.');
  const { types } = registry;
  const services = { ...context, queue, db: database as Db };
  const schedules = new Map(
    [...types].filter((entry): entry is [string, ScheduleType] => entry[1].kind === 'schedule'),
  );
  const notifyEventsWaiting = (): void => registry.notifyEventsWaiting();
  const releaser =
    types.size === 0 ? undefined : new FlowReleaser({ ...services, repeat, db: database as never });
  const scheduler =
    schedules.size === 0
      ? undefined
      : new Scheduler({ ...services, repeat, notifyEventsWaiting, types: schedules });
  const unsubscribeFunctions = [
    registry.onChange(() => scheduler?.wake()),
    registry.onEventsWaiting(() => releaser?.checkNow()),
  ];
  return {
    ...services,
    types,
    ...{ notifyEventsWaiting, notifyChanged: () => registry.notifyChanged() },
    recordDesiredRegistrations: (transaction, workflow) =>
      registry.recordDesiredRegistrations(transaction, workflow),
    close: async () => {
      for (const unsubscribe of unsubscribeFunctions) unsubscribe();
      await scheduler?.close();
      await releaser?.close();
    },
  };
}
