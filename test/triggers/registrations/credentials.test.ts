import { storeCredential } from '@heddle/service/credentials';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOOK_CREDENTIALS, startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders, SimulatedHook } from '../../support/hook-providers.ts';
import { HOOK_TYPES, openHookApi, sealer } from './setup.ts';
import type { HookApi } from './setup.ts';

const DAY_MS = 24 * 3_600_000;
const { type, fields } = HOOK_TYPES.github;
const CREDENTIAL_NAME = 'of the webhook';

describe('the next check of a webhook at its provider', () => {
  let providers: HookProviders;
  let api: HookApi;

  beforeAll(async () => {
    providers = await startHookProviders();
    api = await openHookApi('sqlite', providers);
  });
  afterAll(() => providers.close());

  /** Stores or replaces a token. Returns the id of the credential. */
  const storeToken = async (accessToken: string, name = CREDENTIAL_NAME): Promise<string> => {
    const material = { type: 'oauth', accessToken } as const;
    const credential = { workspaceId: api.workspaceId, name, provider: 'github', material };
    return (await storeCredential(api.store.database, sealer, credential)).credential.id;
  };
  /** Deploys a workflow, and waits until its webhook exists at the provider. */
  const deployWebhookWorkflow = async (credentialId: string): Promise<string> => {
    const id = await api.deployWebhookWorkflow(type, { ...fields, triggerCredentials: '' });
    await api.redeploy(id, type, { ...fields, triggerCredentials: credentialId });
    await api.waitForStatus(id, 'active');
    return id;
  };
  const updateCredential = (credentialId: string, values: { [column: string]: string }): Promise<unknown> =>
    api.hookDb
      .updateTable('credentials' as never)
      .set(values as never)
      .where('id' as never, '=', credentialId as never)
      .execute();
  const sendDelivery = async (id: string): Promise<number> => {
    const [hook] = (await api.hooksOf(id)) as [SimulatedHook];
    return (await api.deliver(hook, crypto.randomUUID())).status;
  };
  const waitForError = async (id: string): Promise<unknown> => {
    const { latestDeploymentAttempt: attempt } = await api.waitForStatus(id, 'failed');
    return attempt?.error;
  };
  const auditActionsOf = async (id: string): Promise<string[]> => {
    const rows = await api.store.audit.listByResource(id);
    return rows.map(({ action }) => action);
  };

  it('uses the new secret of a credential whose secret was replaced', async () => {
    const credentialId = await storeToken(HOOK_CREDENTIALS.github);
    const id = await deployWebhookWorkflow(credentialId);
    expect(await storeToken(HOOK_CREDENTIALS.githubReadOnly)).toBe(credentialId);
    api.advance(DAY_MS);
    expect(await waitForError(id)).toMatchObject({ message: expect.stringMatching(/not allowed to manage/) });
    await storeToken(HOOK_CREDENTIALS.github2);
    api.advance(DAY_MS);
    await api.waitForStatus(id, 'active');
    expect((await api.triggerOf(id)).health.lastError).toBeNull();
    expect(await sendDelivery(id)).toBe(200);
  });

  it('fails until a person has connected the account again', async () => {
    const credentialId = await storeToken(HOOK_CREDENTIALS.github);
    const id = await deployWebhookWorkflow(credentialId);
    await updateCredential(credentialId, { state: 'reconnect' });
    api.advance(DAY_MS);
    expect(await waitForError(id)).toMatchObject({
      retryable: false,
      message: expect.stringMatching(/Connect the account again/),
    });
    expect(await sendDelivery(id)).toBe(200);
    await storeToken(HOOK_CREDENTIALS.github2);
    api.advance(DAY_MS);
    await api.waitForStatus(id, 'active');
  });

  it('fails after the credential was moved to another workspace', async () => {
    const credentialId = await storeToken(HOOK_CREDENTIALS.github, 'moved');
    const id = await deployWebhookWorkflow(credentialId);
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Others', api.userId);
    await updateCredential(credentialId, { workspace_id: otherWorkspaceId });
    const [hook] = (await api.hooksOf(id)) as [SimulatedHook];
    const listHookRequests = () =>
      providers.requests.filter((request) => request.endsWith(`/hooks/${hook.id}`));
    const requestsBefore = listHookRequests();
    api.advance(DAY_MS);
    const message = expect.stringMatching(/does not have the stored credential/);
    expect(await waitForError(id)).toMatchObject({ retryable: false, message });
    expect(listHookRequests()).toEqual(requestsBefore);
  });

  it('fails after the credential was deleted; deliveries still start runs, and another credential can replace it', async () => {
    const credentialId = await storeToken(HOOK_CREDENTIALS.github, 'deleted');
    const id = await deployWebhookWorkflow(credentialId);
    const [hookBefore] = await api.hooksOf(id);
    const path = `/api/v2/credentials/${credentialId}?workspaceId=${api.workspaceId}`;
    expect((await api.call('DELETE', path)).status).toBe(200);
    api.advance(DAY_MS);
    const message = expect.stringMatching(/could not be checked .*does not have the stored credential/);
    expect(await waitForError(id)).toMatchObject({ retryable: false, message });
    const { warnings } = await api.readDeployment(id);
    expect(warnings).toEqual([expect.stringMatching(/does not have the stored credential/)]);
    expect(await sendDelivery(id)).toBe(200);
    await api.redeploy(id, type, { ...fields, triggerCredentials: 'github2' });
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toMatchObject([{ id: hookBefore?.id }]);
    await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
    await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
    expect(await api.hooksOf(id)).toEqual([]);
  });

  it('is omitted after an undeployment without the credential: the webhook stays, the audit log records it, and deliveries get 404', async () => {
    const credentialId = await storeToken(HOOK_CREDENTIALS.github, 'deleted too');
    const id = await deployWebhookWorkflow(credentialId);
    const { id: triggerId } = await api.triggerOf(id);
    const path = `/api/v2/credentials/${credentialId}?workspaceId=${api.workspaceId}`;
    expect((await api.call('DELETE', path)).status).toBe(200);
    await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
    await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
    expect(await auditActionsOf(triggerId)).toContain('TRIGGER_HOOK_LEFT');
    expect(await api.hooksOf(id)).toHaveLength(1);
    expect(await sendDelivery(id)).toBe(404);
  });
});
