import type { Json, JsonObject } from '@heddle/core';
import { parseKeys, Sealer } from '@heddle/service';
import { storeCredential, storedCredentials } from '@heddle/service/credentials';
import type { Kysely } from 'kysely';
import { expect } from 'vitest';
import type { WebhookRegistrationTables } from '../../../packages/service/src/triggers/registrations/database.ts';
import type { WebhookRegistrationRow } from '../../../packages/service/src/triggers/registrations/tables.ts';
import { openStore } from '../../support/api.ts';
import type { TestApiOptions } from '../../support/api.ts';
import { draftOf } from '../../support/draft.ts';
import { HOOK_CREDENTIALS } from '../../support/hook-providers.ts';
import type { HookProviders, SimulatedHook } from '../../support/hook-providers.ts';
import { PROVIDERS, openWebhookApi, createWebhookWorkflow } from '../webhook-setup.ts';
import type { WebhookApi, WebhookResponse } from '../webhook-setup.ts';
import { createManualInterval } from '../manual-interval.ts';

export const ORIGIN = 'https://flows.heddle.test';
export const sealer = new Sealer(parseKeys(Buffer.alloc(32, 7).toString('base64')));

/** The state of a deployment. */
export interface Deployment {
  isDeployed: boolean;
  warnings: string[];
  needsRedeployment: boolean;
  latestDeploymentAttempt: {
    status: string;
    readiness: { webhooks: string };
    activatedAt: string | null;
    error: { code: string; message: string; retryable: boolean } | null;
  } | null;
  webhooks: { url: string }[];
}

/** A type of trigger with fields, and the repository, team, account or bot of its webhook. */
export interface HookType {
  type: string;
  fields: JsonObject;
  resource: string;
}

export const HOOK_TYPES: { readonly [name in SimulatedHook['provider']]: HookType } = {
  github: {
    type: 'github_v2',
    fields: { triggerCredentials: 'github', owner: 'ada', repo: 'loom', selectedTriggerId: 'github_push' },
    resource: 'ada/loom',
  },
  linear: {
    type: 'linear_v2',
    fields: { triggerCredentials: 'linear', teamId: 'team-1', selectedTriggerId: 'linear_issue_created_v2' },
    resource: 'team-1',
  },
  stripe: {
    type: 'stripe',
    fields: { triggerCredentials: 'stripe', eventTypes: 'invoice.paid,invoice.voided' },
    resource: HOOK_CREDENTIALS.stripe,
  },
  telegram: { type: 'telegram', fields: { triggerCredentials: 'telegram' }, resource: '4711' },
};

export interface HookApi extends WebhookApi {
  providers: HookProviders;
  hookDb: Kysely<WebhookRegistrationTables>;
  /** Ids of stored credentials, by name. */
  credentials: { readonly [name: string]: string };
  /**
   * Deploys a workflow with a trigger. Names of credentials in its fields are replaced with their ids. `lastBlock`
   * replaces properties of its last block.
   */
  deployWebhookWorkflow(
    type: string,
    fields: JsonObject,
    lastBlock?: { [name: string]: Json },
  ): Promise<string>;
  /** Deploys another version of a workflow. */
  redeploy(id: string, type: string, fields: JsonObject): Promise<Deployment>;
  readDeployment(id: string): Promise<Deployment>;
  /** Waits until the latest deployment attempt has this status. */
  waitForStatus(id: string, status: string): Promise<Deployment>;
  hookRowOf(id: string): Promise<WebhookRegistrationRow | undefined>;
  triggerOf(id: string): Promise<{
    id: string;
    state: string;
    health: { expiresAt: string | null; lastError: string | null; lastCheckAt: string | null };
  }>;
  /** Returns the webhooks at the providers that deliver to the workflow. */
  hooksOf(id: string): Promise<SimulatedHook[]>;
  /** Advances the clock and starts the due work. */
  advance(ms: number): void;
  /** Registers background work, which runs with that of the API. */
  repeat: (ms: number, callback: () => void) => () => void;
  /** Sends a delivery as the provider of a webhook. */
  deliver(hook: SimulatedHook, id: string, properties?: JsonObject): Promise<WebhookResponse>;
}

/** Starts an API whose webhooks are created at simulated providers. */
export async function openHookApi(
  kind: 'sqlite' | 'postgres',
  providers: HookProviders,
  options: TestApiOptions = {},
): Promise<HookApi> {
  // A tick is skipped while earlier work is still running, so the functions below tick again at each call.
  const { repeat, tick } = createManualInterval();
  const store = options.store ?? (await openStore(kind));
  const tenantCredentials = storedCredentials(store.database, sealer);
  const egress = { allowPrivate: true, ports: 'any' as const };
  const api = await openWebhookApi(kind, {
    ...{ repeat, sealer },
    webhookRegistrations: { origin: ORIGIN, egress, services: providers.services },
    ...options,
    feeds: { credentials: tenantCredentials, ...options.feeds },
    store,
  });
  const hookDb = store.database as Kysely<WebhookRegistrationTables>;
  const credentials: { [name: string]: string } = {};
  for (const [name, key] of Object.entries(HOOK_CREDENTIALS))
    credentials[name] = await storeKey(api, store.database, { name, key });
  const replaceCredentialNames = (fields: JsonObject): { [name: string]: Json } =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => {
        const id = /credential/i.test(name) ? credentials[value as string] : undefined;
        return [name, id ?? value];
      }),
    );
  const readDeployment = async (id: string): Promise<Deployment> => {
    tick();
    return (await api.call<Deployment>('GET', `/api/v2/workflows/${id}/deployment`)).data;
  };
  const pathOf = async (id: string): Promise<string | undefined> =>
    (
      await api.db
        .selectFrom('webhook_paths')
        .select('path')
        .where('workflow_id', '=', id)
        .orderBy('is_current', 'desc')
        .executeTakeFirst()
    )?.path;
  return {
    ...api,
    ...{ providers, hookDb, credentials, readDeployment, repeat },
    deployWebhookWorkflow: (type, fields, lastBlock = {}) =>
      api.deploy(createWebhookWorkflow(replaceCredentialNames(fields), { type, lastBlock })),
    async redeploy(id, type, fields) {
      const draft = draftOf(createWebhookWorkflow(replaceCredentialNames(fields), { type }));
      const { block_id: blockId } = await api.db
        .selectFrom('webhook_paths')
        .select('block_id')
        .where('workflow_id', '=', id)
        .executeTakeFirstOrThrow();
      const [draftBlockId = ''] = Object.keys(draft['blocks'] as JsonObject);
      // The block keeps its id.
      const draftJson = JSON.stringify(draft).replaceAll(draftBlockId, blockId);
      const putResponse = await api.call('PUT', `/api/v2/workflows/${id}/state`, { rawBody: draftJson });
      if (putResponse.status !== 200) throw new Error(JSON.stringify(putResponse.body));
      const response = await api.call<Deployment>('POST', `/api/v2/workflows/${id}/deploy`);
      if (response.status !== 200) throw new Error(JSON.stringify(response.body));
      return response.data;
    },
    async waitForStatus(id, status) {
      await expect
        .poll(async () => {
          const { latestDeploymentAttempt: attempt } = await readDeployment(id);
          return attempt?.error?.message ?? attempt?.status;
        })
        .toEqual(status === 'failed' ? expect.stringMatching(/could not be (created|checked)/) : status);
      return readDeployment(id);
    },
    hookRowOf(id) {
      tick();
      return hookDb.selectFrom('provider_hooks').selectAll().where('workflow_id', '=', id).executeTakeFirst();
    },
    async triggerOf(id) {
      tick();
      const query = `workspaceId=${api.workspaceId}&workflowId=${id}`;
      const { data } = await api.call<never[]>('GET', `/api/v2/triggers?${query}`);
      return data[0] as never;
    },
    async hooksOf(id) {
      tick();
      const path = (await pathOf(id)) ?? 'none';
      return providers.hooks.filter(({ url }) => url.endsWith(`/${path}`));
    },
    advance(ms) {
      api.now.ms += ms;
      tick();
    },
    deliver(hook, id, properties = {}) {
      const provider = PROVIDERS[hook.provider];
      const event = {
        ...{ invoice: 1, type: 'invoice.paid', action: 'create', ref: 'refs/heads/main' },
        ...properties,
      };
      const body = hook.provider === 'linear' ? { ...event, type: 'Issue' } : event;
      const request = provider!.createRequest(body, { id, nowMs: api.now.ms, secret: hook.secret });
      return api.send(new URL(hook.url).pathname, request);
    },
  };
}

async function storeKey(
  { workspaceId }: Pick<WebhookApi, 'workspaceId'>,
  database: Kysely<unknown>,
  { name, key }: { name: string; key: string },
): Promise<string> {
  const material = { type: 'service_account', key } as const;
  const { credential } = await storeCredential(database, sealer, {
    ...{ workspaceId, name, provider: 'shop', material },
  });
  return credential.id;
}
