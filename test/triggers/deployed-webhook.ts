import type { JsonObject } from '@heddle/core';
import { draftOf } from '../support/draft.ts';
import type { TriggerProcess } from './trigger-process.ts';
import { createWebhookWorkflow } from './webhook-setup.ts';

/** The response to a delivery. */
export interface DeliveryResponse {
  status: number;
  body: { runId: string };
}

/** A workflow with a deployed webhook. `key`: an API key of its workspace. */
export interface DeployedWebhook {
  key: string;
  workspaceId: string;
  workflowId: string;
  path: string;
}

/** Deploys a workflow with a webhook, through a process. */
export async function deployWebhookWorkflow(
  process: TriggerProcess,
  flowControl?: JsonObject,
): Promise<DeployedWebhook> {
  const { key, workspaceId } = await process.call<{ key: string; workspaceId: string }>('createWorkspace');
  const request = <Data>(...args: [string, string, unknown?]) =>
    process.call<Data>('request', { key, request: args });
  const { id } = await request<{ id: string }>('POST', '/workflows', { workspaceId, name: 'Receives' });
  const fields = flowControl ? { flowControl } : {};
  await request('PUT', `/workflows/${id}/state`, draftOf(createWebhookWorkflow(fields)));
  await request('POST', `/workflows/${id}/deploy`);
  const { webhooks } = await request<{ webhooks: { url: string }[] }>('GET', `/workflows/${id}/deployment`);
  return { key, workspaceId, workflowId: id, path: new URL(webhooks[0]?.url ?? 'http://none').pathname };
}

/** Sends a delivery. Returns undefined if the process dies before it responds. */
export async function deliver(
  process: TriggerProcess,
  { path }: DeployedWebhook,
  delivery: { deliveryId: string; killStep?: number },
): Promise<DeliveryResponse | undefined> {
  return process.call<DeliveryResponse>('deliver', { path, ...delivery }).catch((error: unknown) => {
    if (process.isDead()) return undefined;
    throw error;
  });
}
