import { storeCredential } from '@heddle/service/credentials';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOOK_CREDENTIALS, startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders } from '../../support/hook-providers.ts';
import { storesToTest } from '../../support/postgres.ts';
import { pickByScale } from '../../support/scale.ts';
import { HOOK_TYPES, openHookApi, sealer } from './setup.ts';
import type { HookApi } from './setup.ts';

const DAY_MS = 24 * 3_600_000;
const RETRY_MS = 5000;
const POLL_MS = 5000;
const { github: VALID_KEY, githubReadOnly: READ_ONLY_KEY } = HOOK_CREDENTIALS;
const { type, fields } = HOOK_TYPES.github;

describe.each(storesToTest('repaired credentials of registrations'))(
  'a webhook that its provider refuses, on %s,',
  (kind) => {
    let providers: HookProviders;
    let api: HookApi;

    beforeAll(async () => {
      providers = await startHookProviders();
      api = await openHookApi(kind, providers);
    });
    afterAll(() => providers.close());

    /** Stores or replaces a key only in the database, as another process would. Returns the id of the credential. */
    const storeKey = async (name: string, key: string, workspaceId = api.workspaceId): Promise<string> => {
      const material = { type: 'service_account', key } as const;
      const credential = { workspaceId, name, provider: 'github', material };
      return (await storeCredential(api.store.database, sealer, credential)).credential.id;
    };
    const deployWebhookWorkflow = (credentialId: string): Promise<string> =>
      api.deployWebhookWorkflow(type, { ...fields, triggerCredentials: credentialId });
    /** Deploys a workflow whose webhook is refused. */
    const deployRefusedHook = async (credentialId: string): Promise<string> => {
      const id = await deployWebhookWorkflow(credentialId);
      await api.waitForStatus(id, 'failed');
      expect(await delayOf(id)).toBe(DAY_MS);
      return id;
    };
    const delayOf = async (id: string): Promise<number> =>
      Number((await api.hookRowOf(id))?.look_ms) - api.now.ms;
    const attemptCountOf = async (id: string): Promise<number | undefined> =>
      (await api.hookRowOf(id))?.attempts;
    const pathOf = (credentialId: string): string =>
      `/api/v2/credentials/${credentialId}?workspaceId=${api.workspaceId}`;

    it('is created soon after its credential was replaced in another process', async () => {
      const credentialId = await storeKey('replaced', READ_ONLY_KEY);
      const ids = [await deployRefusedHook(credentialId), await deployRefusedHook(credentialId)];
      await storeKey('replaced', VALID_KEY);
      api.advance(RETRY_MS);
      for (const id of ids) expect((await api.waitForStatus(id, 'active')).warnings).toEqual([]);
    });

    it('is created soon after a request has replaced the key of its credential, but not after a rename', async () => {
      const credentialId = await storeKey('renamed', READ_ONLY_KEY);
      const id = await deployRefusedHook(credentialId);
      await api.call('PATCH', pathOf(credentialId), { body: { displayName: 'another name' } });
      expect(await delayOf(id)).toBe(DAY_MS);
      const { status } = await api.call('PATCH', pathOf(credentialId), {
        body: { serviceAccountJson: VALID_KEY },
      });
      expect(status).toBe(200);
      api.advance(RETRY_MS);
      await api.waitForStatus(id, 'active');
    });

    it('is created soon after its deleted credential was added again with the same id', async () => {
      const credentialId = await storeKey('added', VALID_KEY);
      expect((await api.call('DELETE', pathOf(credentialId))).status).toBe(200);
      const id = await deployRefusedHook(credentialId);
      const credentialFields = {
        workspaceId: api.workspaceId,
        providerId: 'github',
        id: credentialId,
        credentials: VALID_KEY,
      };
      const body = { ...credentialFields, type: 'service_account', displayName: 'added again' };
      expect((await api.call('POST', '/api/v2/credentials', { body })).status).toBe(201);
      api.advance(RETRY_MS);
      await api.waitForStatus(id, 'active');
    });

    it('is retried with exponential backoff while its key is replaced by other wrong keys', async () => {
      const credentialId = await storeKey('guessed', READ_ONLY_KEY);
      const id = await deployRefusedHook(credentialId);
      const initialRequestCount = providers.requests.length;
      for (let attempt = 1; attempt <= pickByScale(4, 11); attempt += 1) {
        for (let guess = 0; guess < 3; guess += 1) await storeKey('guessed', `${READ_ONLY_KEY}${guess}`);
        const delayMs = Math.min(RETRY_MS * 2 ** (attempt - 1), 3_600_000);
        // Each change after the first one brings the attempt forward by a millisecond.
        const remainingMs = await delayOf(id);
        expect(remainingMs).toBeGreaterThan(delayMs - 10);
        expect(remainingMs).toBeLessThanOrEqual(delayMs);
        api.advance(remainingMs - 1);
        expect(await attemptCountOf(id)).toBe(attempt);
        // Within 5 seconds, each process reads the changes of other processes.
        api.advance(POLL_MS);
        await expect.poll(() => attemptCountOf(id)).toBe(attempt + 1);
        expect(await delayOf(id)).toBe(DAY_MS);
      }
      expect(providers.requests.length - initialRequestCount).toBeLessThan(25);
      await storeKey('guessed', VALID_KEY);
      await api.redeploy(id, type, { ...fields, triggerCredentials: credentialId });
      await api.waitForStatus(id, 'active');
    });

    it('is retried soon if its credential is replaced during a request with the former credential', async () => {
      const credentialId = await storeKey('late', READ_ONLY_KEY);
      const requestSent = Promise.withResolvers<void>();
      const response = Promise.withResolvers<undefined>();
      providers.beforeResponse = () => {
        requestSent.resolve();
        return response.promise;
      };
      const id = await deployWebhookWorkflow(credentialId);
      await api.hookRowOf(id);
      await requestSent.promise;
      await storeKey('late', VALID_KEY);
      providers.beforeResponse = () => undefined;
      response.resolve(undefined);
      await api.waitForStatus(id, 'failed');
      expect(await delayOf(id)).toBe(RETRY_MS);
      api.advance(RETRY_MS);
      await api.waitForStatus(id, 'active');
    });

    it('is not retried when a credential of another workspace, or another credential of its workspace, changes', async () => {
      const credentialId = await storeKey('kept', READ_ONLY_KEY);
      const id = await deployRefusedHook(credentialId);
      await storeKey('other', VALID_KEY);
      const otherWorkspaceId = await api.store.workspaces.createWorkspace('Others', api.userId);
      const foreignCredentialId = await storeKey('kept', READ_ONLY_KEY, otherWorkspaceId);
      await api.hookDb
        .updateTable('credentials' as never)
        .set({ id: credentialId } as never)
        .where('id' as never, '=', foreignCredentialId as never)
        .where('workspace_id' as never, '=', otherWorkspaceId as never)
        .execute();
      await storeKey('other', READ_ONLY_KEY);
      expect(await delayOf(id)).toBe(DAY_MS);
    });
  },
);
