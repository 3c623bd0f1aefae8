import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openServiceStore } from '@heddle/service';
import { expect, it } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { sealingOf } from '../serve/service-store.ts';
import { listSecrets, removeSecret, resealSecrets, setSecret } from './secrets.ts';

/** Creates a data folder with one workspace, as the first start of `heddle serve` does. */
async function createWorkspace(): Promise<{ data: string; workspaceId: string; json: boolean }> {
  const data = createDataFolder();
  const store = await openServiceStore({ data });
  const bootstrapResult = await store.workspaces.bootstrap();
  await store.close();
  return { data, workspaceId: bootstrapResult?.workspaceId ?? '', json: true };
}

/** Returns the values of secrets as a run of the workspace reads them. */
async function valuesOf(data: string, workspaceId: string, names: string[]): Promise<object> {
  const { openWorkerStore } = await import('@heddle/service');
  const { sealer } = await sealingOf({ data });
  const workerStore = await openWorkerStore({ data }, sealer);
  try {
    return await workerStore.secrets.values(workspaceId, names);
  } finally {
    await workerStore.close();
  }
}

it('heddle secrets sets, lists and removes secrets; output never has a value', async () => {
  const options = await createWorkspace();
  const setIo = createRecordingIo('a secret value\n');
  await setSecret(setIo, 'TOKEN', { ...options, description: 'of the shop' });
  expect(await valuesOf(options.data, options.workspaceId, ['TOKEN'])).toEqual({ TOKEN: 'a secret value' });
  const listIo = createRecordingIo();
  await listSecrets(listIo, options);
  expect(JSON.parse(listIo.stdout.text)).toMatchObject({
    data: [{ name: 'TOKEN', description: 'of the shop' }],
  });
  const removeIo = createRecordingIo();
  await removeSecret(removeIo, 'TOKEN', options);
  expect(await valuesOf(options.data, options.workspaceId, ['TOKEN'])).toEqual({});
  const output = [setIo, listIo, removeIo].map(({ stdout, stderr }) => stdout.text + stderr.text).join('');
  expect(output).not.toContain('a secret value');
  await expect(removeSecret(createRecordingIo(), 'TOKEN', options)).rejects.toThrow(
    'There is no secret TOKEN.',
  );
});

it('heddle secrets refuses an empty value, an invalid name and an unknown workspace', async () => {
  const options = await createWorkspace();
  await expect(setSecret(createRecordingIo('\n'), 'TOKEN', options)).rejects.toThrow('There is no value');
  await expect(setSecret(createRecordingIo('x'), '{TOKEN}', options)).rejects.toThrow('The name is invalid');
  await expect(setSecret(createRecordingIo('x'), 'TOKEN', { ...options, workspace: 'none' })).rejects.toThrow(
    'There is no such workspace.',
  );
  await expect(
    listSecrets(createRecordingIo(), { ...options, data: join(options.data, 'none') }),
  ).rejects.toThrow('There is no data folder');
});

it('heddle secrets rotate encrypts all secrets with a new key', async () => {
  const options = await createWorkspace();
  await setSecret(createRecordingIo('a secret value'), 'TOKEN', options);
  const io = createRecordingIo();
  await resealSecrets(io, options);
  expect(JSON.parse(io.stdout.text)).toMatchObject({ data: { resealed: 1 } });
  expect(readdirSync(join(options.data, 'secret-keys')).sort()).toEqual(['000001.key', '000002.key']);
  await resealSecrets(createRecordingIo(), options);
  expect(readdirSync(join(options.data, 'secret-keys')).sort()).toEqual(['000002.key', '000003.key']);
  expect(await valuesOf(options.data, options.workspaceId, ['TOKEN'])).toEqual({ TOKEN: 'a secret value' });
});
