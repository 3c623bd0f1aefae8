import type { Json } from '@heddle/core';

/** Functions that call a service as an admin of the workspace. */
export interface AdminClient {
  workspaceId: string;
  /** Deploys the workflow and returns its id. */
  deploy(workflow: Json): Promise<string>;
  /** Returns the `data` of the response. */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
}

/** Ids of a schedule, a paused schedule, and a webhook with a delivery. */
export interface TriggerIds {
  triggerId: string;
  pausedTriggerId: string;
  webhookId: string;
  deliveryId: string;
}

const DAILY_SCHEDULE = { scheduleType: 'daily', dailyTime: '09:00', timezone: 'UTC' };

/** Deploys two workflows with schedules and one with a webhook, pauses one schedule, and calls the webhook. */
export async function deployTriggers({ workspaceId, deploy, request }: AdminClient): Promise<TriggerIds> {
  const scheduledWorkflowIds = [
    await deploy(createTriggerWorkflow(DAILY_SCHEDULE)),
    await deploy(createTriggerWorkflow(DAILY_SCHEDULE)),
  ];
  const webhookWorkflowId = await deploy(createTriggerWorkflow({}, { type: 'generic_webhook' }));
  const triggerIdOf = async (workflowId = ''): Promise<string> => {
    const query = `workspaceId=${workspaceId}&workflowId=${workflowId}`;
    return firstId(await request('GET', `/api/v2/triggers?${query}`));
  };
  const [triggerId, pausedTriggerId, webhookId] = [
    await triggerIdOf(scheduledWorkflowIds[0]),
    await triggerIdOf(scheduledWorkflowIds[1]),
    await triggerIdOf(webhookWorkflowId),
  ];
  await request('POST', `/api/v2/triggers/${pausedTriggerId}/pause`, {});
  const deployment = await request('GET', `/api/v2/workflows/${webhookWorkflowId}/deployment`);
  const { webhooks } = deployment as { webhooks: { url: string }[] };
  await request('POST', new URL(webhooks[0]?.url ?? '').pathname, { n: 1 });
  const deliveryId = firstId(await request('GET', `/api/v2/webhooks/${webhookId}/deliveries`));
  return { triggerId, pausedTriggerId, webhookId, deliveryId };
}

function firstId(data: unknown): string {
  const [first] = data as { id: string }[];
  if (!first) throw new Error('The list is empty.');
  return first.id;
}

/**
 * Returns a workflow with a trigger that has these fields, and a block that completes immediately. `type` is the type
 * of the trigger, by default a schedule. `lastBlock` sets properties of the block.
 */
export function createTriggerWorkflow(
  fields: { [name: string]: Json },
  { type = 'schedule', lastBlock = {} }: { type?: string; lastBlock?: { [name: string]: Json } } = {},
): Json {
  const suffix = crypto.randomUUID().slice(0, 8);
  const subBlocks = Object.fromEntries(
    Object.entries(fields).map(([id, value]) => [id, { id, type: 'short-input', value }]),
  );
  const commonProperties = { position: { x: 0, y: 0 }, enabled: true, outputs: {} };
  const [triggerId, endId] = [`clock-${suffix}`, `end-${suffix}`];
  const end = { type: 'variables', subBlocks: {}, ...lastBlock };
  return {
    version: '1.0',
    workflow: { id: `w-${suffix}`, name: `Scheduled ${suffix}` },
    state: {
      blocks: {
        [triggerId]: {
          ...commonProperties,
          id: triggerId,
          type,
          name: 'Clock',
          triggerMode: true,
          subBlocks,
        },
        [endId]: { ...commonProperties, id: endId, name: 'End', ...end },
      },
      edges: [{ id: `edge-${suffix}`, source: triggerId, target: endId }],
    },
  };
}
