import { join } from 'node:path';
import type { CredentialQuery } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import { expect, it } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { lazyWorkerStore } from '../serve/service-store.ts';
import { addCredential, listCredentials, removeCredential } from './credentials.ts';

const KEY = 'sk-the-key-of-the-shop';

/** Creates a data folder with one workspace, as the first start of `heddle serve` does. */
async function createWorkspace() {
  const dataFolder = createDataFolder();
  const store = await openServiceStore({ data: dataFolder });
  const bootstrapResult = await store.workspaces.bootstrap();
  await store.close();
  const workspaceId = bootstrapResult?.workspaceId ?? '';
  const options = {
    data: dataFolder,
    json: true,
    provider: 'shop',
    serviceAccount: false,
    oauth: false,
    timeout: 60_000,
  };
  const reportedErrors: unknown[] = [];
  /** Returns the credential that a block of the workspace gets in a worker. */
  const find = async (query: CredentialQuery, tenant = workspaceId) => {
    const workerStore = lazyWorkerStore(options, (error) => reportedErrors.push(error));
    try {
      return await workerStore.credentials.find(tenant, query);
    } finally {
      await workerStore.close();
      expect(reportedErrors).toEqual([]);
    }
  };
  return { options, find };
}

it('heddle credentials adds, lists and removes credentials; output never has a key', async () => {
  const { options, find } = await createWorkspace();
  const addIo = createRecordingIo(`${KEY}\n`);
  await addCredential(addIo, 'Shop', { ...options, description: 'of the shop' });
  const { data } = JSON.parse(addIo.stdout.text) as { data: { id: string } };
  expect(data).toMatchObject({ name: 'Shop', provider: 'shop', type: 'api_key', created: true });
  expect(await find({ id: data.id })).toMatchObject({ secret: KEY, name: 'Shop' });
  expect(await find({ provider: 'shop', type: 'api_key' })).toMatchObject({ id: data.id });
  expect(await find({ provider: 'shop', type: 'oauth' })).toBeUndefined();
  expect(await find({ id: data.id }, 'another workspace')).toBeUndefined();
  const listIo = createRecordingIo();
  await listCredentials(listIo, options);
  expect(JSON.parse(listIo.stdout.text)).toMatchObject({
    data: [{ id: data.id, description: 'of the shop' }],
  });
  const tableIo = createRecordingIo();
  await listCredentials(tableIo, { ...options, json: false });
  expect(tableIo.stdout.text).toContain('Shop');
  const removeIo = createRecordingIo();
  await removeCredential(removeIo, 'Shop', options);
  expect(await find({ id: data.id })).toBeUndefined();
  const ios = [addIo, listIo, tableIo, removeIo];
  const output = ios.map(({ stdout, stderr }) => stdout.text + stderr.text).join('');
  expect(output).not.toContain(KEY);
  await expect(removeCredential(createRecordingIo(), 'Shop', options)).rejects.toThrow(
    'There is no credential Shop.',
  );
});

it('heddle credentials add replaces the key of a credential and keeps its id', async () => {
  const { options, find } = await createWorkspace();
  const io = createRecordingIo(KEY);
  await addCredential(io, 'Shop', { ...options, json: false });
  const id = io.stdout.text.trim();
  const secondIo = createRecordingIo('sk-another-key');
  await addCredential(secondIo, 'Shop', { ...options, json: false });
  expect(secondIo.stdout.text.trim()).toBe(id);
  expect(secondIo.stderr.text).toContain('The credential Shop is replaced.');
  expect(await find({ id })).toMatchObject({ secret: 'sk-another-key' });
});

it('heddle credentials add stores the key of a service account, with its line breaks', async () => {
  const { options, find } = await createWorkspace();
  const key = '{\n  "private_key": "-----BEGIN KEY-----"\n}';
  await addCredential(createRecordingIo(key), 'Robot', { ...options, serviceAccount: true });
  expect(await find({ provider: 'shop', type: 'service_account' })).toMatchObject({ secret: key });
});

it('heddle credentials refuses an invalid key or provider, and an unknown workspace or folder', async () => {
  const { options } = await createWorkspace();
  await expect(addCredential(createRecordingIo('\n'), 'Shop', options)).rejects.toThrow('There is no value');
  await expect(addCredential(createRecordingIo('two words'), 'Shop', options)).rejects.toThrow(
    'The key is invalid',
  );
  await expect(
    addCredential(createRecordingIo(KEY), 'Shop', { ...options, provider: 'a/b' }),
  ).rejects.toThrow('The provider is invalid');
  await expect(
    addCredential(createRecordingIo(KEY), 'Shop', { ...options, workspace: 'none' }),
  ).rejects.toThrow('There is no such workspace.');
  await expect(
    listCredentials(createRecordingIo(), { ...options, data: join(options.data, 'none') }),
  ).rejects.toThrow('There is no data folder');
});
