import { createHmac } from 'node:crypto';
import { triggerTypes } from '@heddle/blocks/triggers';
import type { Json } from '@heddle/core';
import type { Kysely, Selectable } from 'kysely';
import { openServiceStore } from '@heddle/service';
import type { WebhookTables } from '../../packages/service/src/triggers/webhooks/tables.ts';
import { createTestApi } from '../support/api.ts';
import type { TestApi, TestApiOptions } from '../support/api.ts';
import { draftOf } from '../support/draft.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';

/** The secrets of the workspace in these tests. */
export const SECRETS: { readonly [name: string]: string } = {
  TOKEN: 'open sesame',
  GITHUB: "It's a Secret to Everybody",
  SLACK: '8f742231b10e8888abcd99yyyzzz85a5',
  STRIPE: 'whsec_stripe',
  LINEAR: 'lin_wh_secret',
  TELEGRAM: 'telegram-secret',
  CIRCLEBACK: 'whsec_circleback',
  STANDARD: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  ROTATED: 'new secret\nold secret',
};

export interface WebhookRequest {
  method?: string;
  query?: string;
  headers?: { [name: string]: string };
  body?: NonNullable<RequestInit['body']>;
}

export interface WebhookResponse {
  status: number;
  headers: Headers;
  body: { [key: string]: unknown };
}

export interface WebhookApi extends TestApi {
  db: Kysely<WebhookTables>;
  now: { ms: number };
  /** Deploys a workflow with a webhook. Returns the id of the workflow, and the path of the webhook's URL. */
  deployWebhook(
    fields: { [name: string]: Json },
    options?: WebhookWorkflowOptions,
  ): Promise<{ workflowId: string; path: string }>;
  /** Replaces the draft with one whose webhook block has other fields, but the id of the block of version 1. */
  editFields(workflowId: string, fields: { [name: string]: Json }): Promise<void>;
  /** Sends a request to a path. */
  send(path: string, request?: WebhookRequest): Promise<WebhookResponse>;
  /** Returns the current path of the webhook of a workflow. */
  pathOf(workflowId: string): Promise<string>;
  /** Returns the stored deliveries to the webhook of a workflow. */
  deliveriesOf(workflowId: string): Promise<Selectable<WebhookTables['webhook_deliveries']>[]>;
  /** Returns the stored runs of a workflow. */
  runsOf(workflowId: string): Promise<Selectable<WebhookTables['claims']>[]>;
  /** Waits until the run has ended. Returns the output of the webhook block. */
  readTriggerOutput(runId: unknown): Promise<unknown>;
}

type WebhookWorkflowOptions = Parameters<typeof createTriggerWorkflow>[1];

export const START_TIME_MS = Date.parse('2026-01-01T00:00:00Z');

/** Starts an API with webhooks on a store of this kind. The test advances its clock. */
export async function openWebhookApi(
  kind: 'sqlite' | 'postgres',
  options: TestApiOptions = {},
): Promise<WebhookApi> {
  const now = { ms: START_TIME_MS };
  const postgres = kind === 'postgres' && { url: await createPostgresDatabase() };
  const store =
    options.store ?? (await openServiceStore(postgres ? { postgres, secret: 'x'.repeat(32) } : {}));
  const environments = {
    names: () => Promise.resolve(Object.keys(SECRETS)),
    values: (_workspace: string, names: readonly string[]) =>
      Promise.resolve(
        Object.fromEntries(names.flatMap((name) => (name in SECRETS ? [[name, SECRETS[name]!]] : []))),
      ),
  };
  const engineOptions = { ...options.engineOptions, environments, triggers: triggerTypes };
  const api = await createTestApi({ now: () => now.ms, environments, ...options, store, engineOptions });
  const db = store.database as Kysely<WebhookTables>;

  async function pathOf(workflowId: string): Promise<string> {
    const { data } = await api.call<{ webhooks: { url: string }[] }>(
      'GET',
      `/api/v2/workflows/${workflowId}/deployment`,
    );
    return new URL(data.webhooks[0]?.url ?? 'http://none/').pathname;
  }

  return {
    ...api,
    ...{ db, now, pathOf },
    async deployWebhook(fields, workflowOptions = {}) {
      const id = await api.deploy(createWebhookWorkflow(fields, workflowOptions));
      return { workflowId: id, path: await pathOf(id) };
    },
    async editFields(workflowId, fields) {
      const url = `/api/v2/workflows/${workflowId}`;
      const { data } = await api.call<{ state: { blocks: object } }>('GET', `${url}/versions/1`);
      const [blockId] = Object.keys(data.state.blocks);
      const draft = draftOf(createWebhookWorkflow(fields)) as { blocks: { [id: string]: object } };
      const text = JSON.stringify(draft).replaceAll(Object.keys(draft.blocks)[0]!, blockId!);
      await api.call('PUT', `${url}/state`, { body: JSON.parse(text) });
    },
    send: (path, request) => sendRequest(api, path, request),
    deliveriesOf: (id) =>
      db.selectFrom('webhook_deliveries').selectAll().where('workflow_id', '=', id).execute(),
    runsOf: (id) => db.selectFrom('claims').selectAll().where('workflow_id', '=', id).execute(),
    async readTriggerOutput(runId) {
      const id = String(runId);
      for (;;) {
        const response = await api.call<{ status: string }>('GET', `/api/v2/logs/${id}`);
        if (
          response.status === 200 &&
          response.data.status !== 'running' &&
          response.data.status !== 'queued'
        )
          break;
        await new Promise((resolve) => setImmediate(resolve));
      }
      const [firstLog] = await api.engine.getLogs(id);
      return firstLog?.output;
    },
  };
}

/** Sends a request to a path of the API without an API key. */
export async function sendRequest(
  { api }: Pick<TestApi, 'api'>,
  path: string,
  { method = 'POST', query = '', headers = {}, body }: WebhookRequest = {},
): Promise<WebhookResponse> {
  const request = new Request(`http://heddle.test${path}${query}`, {
    method,
    headers,
    ...(body !== undefined && { body }),
  });
  const response = await api.fetch(request);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    ...{ status: response.status, headers: response.headers },
    body: (isJson ? JSON.parse(text) : { text }) as WebhookResponse['body'],
  };
}

/** Returns a workflow with a webhook that has these fields, and a block that ends immediately. */
export function createWebhookWorkflow(
  fields: { [name: string]: Json },
  { type = 'generic_webhook', ...options }: NonNullable<WebhookWorkflowOptions> = {},
): Json {
  return createTriggerWorkflow(fields, { type, ...options });
}

export const JSON_HEADERS = { 'Content-Type': 'application/json' };

/** Returns an unsigned request with a JSON body. */
export function createJsonRequest(body: object): { headers: typeof JSON_HEADERS; body: string } {
  return { headers: JSON_HEADERS, body: JSON.stringify(body) };
}

const hmac = (key: string | Buffer, text: string, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHmac('sha256', key).update(text).digest(encoding);

/** A provider: the type and the fields of the block, and a function that signs requests. */
export interface Provider {
  type: string;
  fields: { [name: string]: Json };
  /**
   * Returns a signed request. `id`: the delivery id, by which duplicates are detected if the provider sends it.
   * `secret`: by default that of `fields`.
   */
  createRequest(
    body: object,
    delivery: { id: string; nowMs: number; secret?: string },
  ): WebhookRequest & { body: string };
}

/** Circleback, whose deliveries have no ids. */
export const CIRCLEBACK: Provider = {
  type: 'circleback',
  fields: { webhookSecret: '{{CIRCLEBACK}}', selectedTriggerId: 'circleback_meeting_completed' },
  createRequest(body, { secret = SECRETS['CIRCLEBACK']! }) {
    const text = JSON.stringify(body);
    return { headers: { ...JSON_HEADERS, 'X-Signature': hmac(secret, text) }, body: text };
  },
};

/** Providers whose deliveries have ids. */
export const PROVIDERS: { readonly [name: string]: Provider } = {
  token: {
    type: 'generic_webhook',
    fields: { requireAuth: true, token: '{{TOKEN}}', idempotencyField: 'meta.id' },
    createRequest: (body, { id, secret = SECRETS['TOKEN']! }) => ({
      headers: { ...JSON_HEADERS, Authorization: `Bearer ${secret}` },
      body: JSON.stringify({ ...body, meta: { id } }),
    }),
  },
  github: {
    type: 'github_v2',
    fields: { webhookSecret: '{{GITHUB}}', selectedTriggerId: 'github_webhook' },
    createRequest(body, { id, secret = SECRETS['GITHUB']! }) {
      const text = JSON.stringify(body);
      const signature = `sha256=${hmac(secret, text)}`;
      const deliveryHeaders = { 'X-GitHub-Delivery': id, 'X-GitHub-Event': 'push' };
      return {
        headers: { ...JSON_HEADERS, ...deliveryHeaders, 'X-Hub-Signature-256': signature },
        body: text,
      };
    },
  },
  slack: {
    type: 'slack',
    fields: { signingSecret: '{{SLACK}}' },
    createRequest(body, { id, nowMs, secret = SECRETS['SLACK']! }) {
      const text = JSON.stringify({ type: 'event_callback', event_id: id, ...body });
      const timestamp = String(Math.floor(nowMs / 1000));
      const signature = `v0=${hmac(secret, `v0:${timestamp}:${text}`)}`;
      const signatureHeaders = { 'X-Slack-Request-Timestamp': timestamp, 'X-Slack-Signature': signature };
      return { headers: { ...JSON_HEADERS, ...signatureHeaders }, body: text };
    },
  },
  stripe: {
    type: 'stripe',
    fields: { webhookSecret: '{{STRIPE}}' },
    createRequest(body, { id, nowMs, secret = SECRETS['STRIPE']! }) {
      const text = JSON.stringify({ id, ...body });
      const timestamp = Math.floor(nowMs / 1000);
      const signature = `t=${timestamp},v1=${hmac(secret, `${timestamp}.${text}`)}`;
      return { headers: { ...JSON_HEADERS, 'Stripe-Signature': signature }, body: text };
    },
  },
  linear: {
    type: 'linear',
    fields: { webhookSecret: '{{LINEAR}}' },
    createRequest(body, { id, nowMs, secret = SECRETS['LINEAR']! }) {
      const text = JSON.stringify({ ...body, webhookTimestamp: nowMs });
      const deliveryHeaders = { 'Linear-Delivery': id, 'Linear-Signature': hmac(secret, text) };
      return { headers: { ...JSON_HEADERS, ...deliveryHeaders }, body: text };
    },
  },
  telegram: {
    type: 'telegram',
    fields: { webhookSecret: '{{TELEGRAM}}' },
    createRequest: (body, { id, secret = SECRETS['TELEGRAM']! }) => ({
      headers: { ...JSON_HEADERS, 'X-Telegram-Bot-Api-Secret-Token': secret },
      body: JSON.stringify({ ...body, update_id: id }),
    }),
  },
  standard: {
    type: 'generic_webhook',
    fields: { signatureScheme: 'standard', token: '{{STANDARD}}' },
    createRequest(body, { id, nowMs, secret = SECRETS['STANDARD']! }) {
      const text = JSON.stringify(body);
      const timestamp = String(Math.floor(nowMs / 1000));
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      const signature = `v1,${hmac(key, `${id}.${timestamp}.${text}`, 'base64')}`;
      const signatureHeaders = {
        'Webhook-Id': id,
        'Webhook-Timestamp': timestamp,
        'Webhook-Signature': signature,
      };
      return { headers: { ...JSON_HEADERS, ...signatureHeaders }, body: text };
    },
  },
};
