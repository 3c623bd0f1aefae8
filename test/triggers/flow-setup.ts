import type { Json, JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import type { FlowTables } from '../../packages/service/src/triggers/flow/tables.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { SCHEDULER_INTERVAL_MS } from './setup.ts';
import { JSON_HEADERS, START_TIME_MS, openWebhookApi, createWebhookWorkflow } from './webhook-setup.ts';
import type { WebhookApi } from './webhook-setup.ts';

export { JSON_HEADERS } from './webhook-setup.ts';

/** The body of the response to a delivery. */
interface DeliveryResult {
  success: boolean;
  runId: string;
  flow?: { state: string; reason: string };
}

/** A webhook with flow control. */
export interface FlowHook {
  workflowId: string;
  path: string;
  send(body: JsonObject): Promise<DeliveryResult>;
  /** Returns the events, newest first. */
  listEvents(): Promise<JsonObject[]>;
  listDeliveries(): Promise<JsonObject[]>;
  /** Replays the delivery at this index of the list. */
  replay(index: number): Promise<{ status: number; data: { runId: string } }>;
  /** Resumes a paused run and waits until it has ended. */
  resume(runId: string): Promise<void>;
  redeploy(): Promise<void>;
  undeploy(): Promise<void>;
  callTriggerAction(action: 'pause' | 'resume'): Promise<void>;
  versionOf(runId: string): Promise<string | null>;
}

export interface FlowApi extends Omit<WebhookApi, 'db'> {
  db: Kysely<FlowTables>;
  /** Advances the clock, and waits until all due work is done. */
  advance(ms: number): Promise<void>;
  /** Waits until all due work is done. */
  waitUntilIdle(): Promise<void>;
  /** Deploys a workflow whose webhook has this flow control. */
  deployWebhookWithFlowControl(flowControl: Json, options?: { pauses?: boolean }): Promise<FlowHook>;
  /** Deploys a workflow whose two webhooks have this flow control. Its runs pause. */
  deployTwoHooks(flowControl: Json): Promise<[FlowHook, FlowHook]>;
  /** Deploys a schedule that is due each minute. */
  deployMinuteSchedule(flowControl: Json): Promise<string>;
  statusOf(runId: string): Promise<string>;
  expectStatus(runId: string, status: string): Promise<void>;
  cancel(runId: string): Promise<void>;
  /** Returns the events of a workflow, oldest first. */
  readEventRows(workflowId: string): Promise<JsonObject[]>;
}

const PAUSE_BLOCK = { type: 'human_in_the_loop', subBlocks: {} };

/** Starts an API with webhooks on a store of this kind. The test advances its clock. */
export async function openFlowApi(kind: 'sqlite' | 'postgres'): Promise<FlowApi> {
  const callbacks = new Set<() => void>();
  const repeat = (ms: number, callback: () => void): (() => void) => {
    if (ms === SCHEDULER_INTERVAL_MS) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    }
    const timer = setInterval(callback, ms);
    return () => clearInterval(timer);
  };
  const api = await openWebhookApi(kind, { repeat });
  const { now, call } = api;
  const db = api.db as unknown as Kysely<FlowTables>;

  /** Does background work until no run and no trigger is due. */
  async function waitUntilIdle(): Promise<void> {
    const hasDueWork = async (): Promise<boolean> => {
      for (const callback of callbacks) callback();
      const [run, trigger] = await Promise.all([
        db.selectFrom('flow_runs').select('run_id').where('look_ms', '<=', now.ms).executeTakeFirst(),
        db.selectFrom('triggers').select('id').where('fire_ms', '<=', now.ms).executeTakeFirst(),
      ]);
      return run !== undefined || trigger !== undefined;
    };
    await expect.poll(hasDueWork, { timeout: 10_000, interval: 5 }).toBe(false);
  }

  async function findTriggerId(workflowId: string, blockId?: string): Promise<string> {
    const query = `workspaceId=${api.workspaceId}&workflowId=${workflowId}`;
    const { data } = await call<{ id: string; blockId: string }[]>('GET', `/api/v2/triggers?${query}`);
    const trigger = data.find((candidate) => blockId === undefined || candidate.blockId === blockId);
    return trigger?.id ?? '';
  }

  function createHook({
    id: workflowId,
    path,
    triggerId,
  }: {
    id: string;
    path: string;
    triggerId: string;
  }): FlowHook {
    const listDeliveries = async () =>
      (await call<(JsonObject & { id: string })[]>('GET', `/api/v2/webhooks/${triggerId}/deliveries`)).data;
    return {
      ...{ workflowId, path, listDeliveries },
      async send(body) {
        // Lists are ordered by time, so each delivery needs a different time.
        now.ms += 1;
        const response = await api.send(path, { headers: JSON_HEADERS, body: JSON.stringify(body) });
        expect(response.status).toBe(200);
        await waitUntilIdle();
        return response.body as unknown as DeliveryResult;
      },
      listEvents: async () => (await call<JsonObject[]>('GET', `/api/v2/triggers/${triggerId}/events`)).data,
      async replay(index) {
        const deliveries = await listDeliveries();
        return call('POST', `/api/v2/webhooks/${triggerId}/deliveries/${deliveries[index]?.id}/replay`, {});
      },
      async resume(runId) {
        const { pauses } = await api.engine.getRun(runId);
        const [firstPause] = pauses;
        await api.engine.resume(runId, { token: firstPause?.token ?? '' });
        await expect.poll(async () => (await api.engine.getRun(runId)).status).toBe('completed');
      },
      async redeploy() {
        const path = `/api/v2/workflows/${workflowId}/state`;
        const { data } = await call<{ blocks: { [id: string]: JsonObject }; edges: Json }>('GET', path);
        const blocks = Object.entries(data.blocks).map(([blockId, block]) => [
          blockId,
          block['name'] === 'End' ? { ...block, name: 'Ended' } : block,
        ]);
        const changedDraft = { blocks: Object.fromEntries(blocks), edges: data.edges };
        expect((await call('PUT', path, { body: changedDraft })).status).toBe(200);
        expect((await call('POST', `/api/v2/workflows/${workflowId}/deploy`, {})).status).toBe(200);
      },
      async undeploy() {
        expect((await call('DELETE', `/api/v2/workflows/${workflowId}/deploy`)).status).toBe(200);
      },
      async callTriggerAction(action) {
        expect((await call('POST', `/api/v2/triggers/${triggerId}/${action}`, {})).status).toBe(200);
      },
      async versionOf(runId) {
        const { data } = await call<{ deploymentVersionId: string | null }>('GET', `/api/v2/logs/${runId}`);
        return data.deploymentVersionId;
      },
    };
  }

  const statusOf = async (runId: string): Promise<string> => {
    const run = await api.engine.getRun(runId).catch(() => undefined);
    if (run) return run.status;
    const claim = await db
      .selectFrom('claims')
      .select(['waiting', 'failure'])
      .where('engine_id', '=', runId)
      .executeTakeFirst();
    if (claim?.waiting != null) return 'queued';
    const { reason = 'unknown' } = JSON.parse(claim?.failure ?? '{}') as { reason?: string };
    return reason.toLowerCase();
  };

  now.ms = START_TIME_MS;
  return {
    ...api,
    ...{ db, waitUntilIdle, statusOf },
    async advance(ms) {
      now.ms += ms;
      await waitUntilIdle();
    },
    async deployWebhookWithFlowControl(flowControl, { pauses = false } = {}) {
      const options = pauses ? { lastBlock: PAUSE_BLOCK } : {};
      const { workflowId, path } = await api.deployWebhook({ flowControl }, options);
      return createHook({ id: workflowId, path, triggerId: await findTriggerId(workflowId) });
    },
    async deployTwoHooks(flowControl) {
      const workflow = createWebhookWorkflow({ flowControl }, { lastBlock: PAUSE_BLOCK }) as {
        state: { blocks: { [id: string]: JsonObject }; edges: JsonObject[] };
      };
      const { blocks, edges } = workflow.state;
      const [[firstBlockId, block] = ['', {}], [lastBlockId] = ['', {}]] = Object.entries(blocks);
      blocks['second'] = { ...block, id: 'second', name: 'Second' };
      edges.push({ id: 'edge-second', source: 'second', target: lastBlockId });
      const id = await api.deploy(workflow as unknown as Json);
      const deployment = await call<{ webhooks: { url: string; blockId: string }[] }>(
        'GET',
        `/api/v2/workflows/${id}/deployment`,
      );
      const hooks = deployment.data.webhooks.map(async ({ url, blockId }) =>
        createHook({ id, path: new URL(url).pathname, triggerId: await findTriggerId(id, blockId) }),
      );
      expect(firstBlockId).not.toBe('second');
      return (await Promise.all(hooks)) as [FlowHook, FlowHook];
    },
    deployMinuteSchedule: (flowControl) =>
      api.deploy(createTriggerWorkflow({ scheduleType: 'minutes', minutesInterval: 1, flowControl })),
    async expectStatus(runId, status) {
      await expect.poll(() => statusOf(runId), { timeout: 10_000 }).toBe(status);
    },
    async cancel(runId) {
      const claim = await db
        .selectFrom('claims')
        .select('workflow_id')
        .where('engine_id', '=', runId)
        .executeTakeFirstOrThrow();
      const path = `/api/v2/workflows/${claim.workflow_id}/runs/${runId}/cancel`;
      expect((await call('POST', path, {})).status).toBe(200);
      await waitUntilIdle();
    },
    readEventRows: async (workflowId) =>
      (await db
        .selectFrom('flow_events')
        .selectAll()
        .where('workflow_id', '=', workflowId)
        .orderBy('received_ms')
        .orderBy('decided_ms')
        .execute()) as unknown as JsonObject[],
  };
}
