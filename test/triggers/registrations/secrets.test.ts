import { parseKeys, resealStoredSecrets, Sealer } from '@heddle/service';
import { storeCredential } from '@heddle/service/credentials';
import { describe, expect, it } from 'vitest';
import { findRegistrationSecret } from '../../../packages/service/src/triggers/registrations/secret.ts';
import type { WebhookRegistrationRow } from '../../../packages/service/src/triggers/registrations/tables.ts';
import { HOOK_CREDENTIALS, startHookProviders } from '../../support/hook-providers.ts';
import type { SimulatedHook } from '../../support/hook-providers.ts';
import { JSON_HEADERS, PROVIDERS, SECRETS } from '../webhook-setup.ts';
import { HOOK_TYPES, openHookApi, sealer } from './setup.ts';

describe('a stored credential', () => {
  it('can be the secret of a generic webhook and of one for a provider, but not in another workspace', async () => {
    const providers = await startHookProviders();
    const api = await openHookApi('sqlite', providers);
    const jsonHeaders = { 'Content-Type': 'application/json' };
    const send = async (id: string, token: string) =>
      api.send(await api.pathOf(id), {
        headers: { ...jsonHeaders, Authorization: `Bearer ${token}` },
        body: '{}',
      });
    const genericId = await api.deployWebhookWorkflow('generic_webhook', { secretCredential: 'stripe' });
    expect(await send(genericId, HOOK_CREDENTIALS.stripe)).toMatchObject({ status: 200 });
    expect(await send(genericId, 'another')).toMatchObject({ status: 401 });
    const slackId = await api.deployWebhookWorkflow('slack', { secretCredential: 'linear' });
    const slackRequest = PROVIDERS['slack']!.createRequest(
      {},
      { id: 'e1', nowMs: api.now.ms, secret: HOOK_CREDENTIALS.linear },
    );
    expect(await api.send(await api.pathOf(slackId), slackRequest)).toMatchObject({ status: 200 });
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Others', api.userId);
    await api.hookDb
      .updateTable('credentials' as never)
      .set({ workspace_id: otherWorkspaceId } as never)
      .where('id' as never, '=', api.credentials['stripe'] as never)
      .execute();
    const [foreignResponse, unknownResponse] = [
      await send(genericId, HOOK_CREDENTIALS.stripe),
      await send(
        await api.deployWebhookWorkflow('generic_webhook', { secretCredential: crypto.randomUUID() }),
        'x',
      ),
    ];
    expect(foreignResponse).toMatchObject({ status: 401 });
    expect(foreignResponse.body).toEqual(unknownResponse.body);
    // A block can have both a credential and a secret in one of its fields.
    const fields = { secretCredential: 'github', token: '{{TOKEN}}' };
    const credentialAndSecretId = await api.deployWebhookWorkflow('generic_webhook', fields);
    expect(await send(credentialAndSecretId, HOOK_CREDENTIALS.github)).toMatchObject({ status: 200 });
    expect(await send(credentialAndSecretId, SECRETS['TOKEN'] ?? '')).toMatchObject({ status: 200 });
    const { body } = await api.call('GET', `/api/v2/triggers?workspaceId=${api.workspaceId}`);
    for (const secret of Object.values(HOOK_CREDENTIALS)) expect(JSON.stringify(body)).not.toContain(secret);
    await providers.close();
  });

  it('with several lines is one secret, so that a single line of a key file is not accepted', async () => {
    const providers = await startHookProviders();
    const api = await openHookApi('sqlite', providers);
    const key = JSON.stringify({ type: 'service_account', private_key: 'k' }, undefined, 2);
    const { credential } = await storeCredential(api.store.database, sealer, {
      ...{ workspaceId: api.workspaceId, name: 'file', provider: 'shop' },
      material: { type: 'service_account', key },
    });
    const id = await api.deployWebhookWorkflow('generic_webhook', { secretCredential: credential.id });
    for (const line of key.split('\n')) {
      const headers = { ...JSON_HEADERS, Authorization: `Bearer ${line.trim()}` };
      expect(await api.send(await api.pathOf(id), { headers, body: '{}' })).toMatchObject({ status: 401 });
    }
    await providers.close();
  });
});

describe('a webhook at a provider', () => {
  it('keeps its secret when the encryption keys are rotated, and encrypts it only with the new key', async () => {
    const providers = await startHookProviders();
    const api = await openHookApi('sqlite', providers);
    const id = await api.deployWebhookWorkflow(HOOK_TYPES.github.type, HOOK_TYPES.github.fields);
    await api.waitForStatus(id, 'active');
    const [{ secret }] = (await api.hooksOf(id)) as [SimulatedHook];
    const keys = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64'));
    const [oldKey, newKey] = keys as [string, string];
    const sealerWithBothKeys = new Sealer(parseKeys(`${newKey},${oldKey}`));
    const reseal = () => resealStoredSecrets(api.store.database, sealerWithBothKeys, undefined);
    expect((await reseal()).resealed).toBeGreaterThan(0);
    const row = (await api.hookRowOf(id)) as WebhookRegistrationRow;
    expect(await findRegistrationSecret(api.hookDb, new Sealer(parseKeys(newKey)), row)).toBe(secret);
    await expect(findRegistrationSecret(api.hookDb, sealer, row)).rejects.toMatchObject({
      code: 'UNKNOWN_KEY',
    });
    expect(await reseal()).toMatchObject({ resealed: 0 });
    await providers.close();
  });
});
