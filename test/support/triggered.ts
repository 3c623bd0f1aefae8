import type { Json, JsonObject } from '@heddle/core';
import { workflowFile } from './workflow-file.ts';

/** How a service is called here, as an admin of the workspace. */
export interface TriggerCalls {
  workspaceId: string;
  /** Deploys the workflow and returns its id. */
  deployed(exported: Json): Promise<string>;
  /** Returns the `data` of the response. */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
}

/** A schedule, a paused one, and a webhook with a delivery. */
export interface Triggered {
  triggerId: string;
  pausedId: string;
  webhookId: string;
  deliveryId: string;
}

const DAILY = { scheduleType: 'daily', dailyTime: '09:00', timezone: 'UTC' };

/** Deploys workflows that start at triggers, and delivers an event. */
export async function triggered({ workspaceId, deployed, request }: TriggerCalls): Promise<Triggered> {
  const schedules = [
    await deployed(startedBy('schedule', DAILY)),
    await deployed(startedBy('schedule', DAILY)),
  ];
  const hooked = await deployed(startedBy('generic_webhook'));
  const idOf = async (workflowId = ''): Promise<string> => {
    const query = `workspaceId=${workspaceId}&workflowId=${workflowId}`;
    return firstId(await request('GET', `/api/v2/triggers?${query}`));
  };
  const [triggerId, pausedId, webhookId] = [
    await idOf(schedules[0]),
    await idOf(schedules[1]),
    await idOf(hooked),
  ];
  await request('POST', `/api/v2/triggers/${pausedId}/pause`, {});
  const deployment = await request('GET', `/api/v2/workflows/${hooked}/deployment`);
  const { webhooks } = deployment as { webhooks: { url: string }[] };
  await request('POST', new URL(webhooks[0]?.url ?? '').pathname, { n: 1 });
  const deliveryId = firstId(await request('GET', `/api/v2/webhooks/${webhookId}/deliveries`));
  return { triggerId, pausedId, webhookId, deliveryId };
}

/** A workflow that a trigger starts, and that ends at once. Blocks of different workflows have different ids. */
function startedBy(type: string, fields: JsonObject = {}): Json {
  const [trigger, last] = [crypto.randomUUID(), crypto.randomUUID()];
  return workflowFile({
    blocks: {
      [trigger]: { type, name: 'Trigger', triggerMode: true, fields },
      [last]: { type: 'variables', name: 'Last' },
    },
    edges: [`${trigger} > ${last}`],
  });
}

function firstId(data: unknown): string {
  const [first] = data as { id: string }[];
  if (!first) throw new Error('The list is empty.');
  return first.id;
}
