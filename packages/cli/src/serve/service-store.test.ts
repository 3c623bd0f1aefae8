import { expect, it } from 'vitest';
import { tenantPortsOf } from './service-store.ts';

const SECRETS: { [workspace: string]: { [name: string]: string } } = {
  second: { KEY: 'stored', OTHER: 'stored too' },
};

/** Returns a worker store in which `getOldestId` returns the id of the oldest workspace. */
const workerStoreWith = (getOldestId: () => string | undefined) => ({
  secrets: {
    names: (workspace: string) => Object.keys(SECRETS[workspace] ?? {}),
    values: (workspace: string, names: readonly string[]) =>
      Object.fromEntries(Object.entries(SECRETS[workspace] ?? {}).filter(([name]) => names.includes(name))),
  },
  credentials: { find: () => undefined },
  skills: { find: () => [], read: () => undefined },
  resolveChild: async () => undefined,
  tenant: async () => undefined,
  findOldestWorkspaceId: async () => getOldestId(),
});

it('only the oldest workspace gets the values from the command line', async () => {
  const { environments } = tenantPortsOf(
    workerStoreWith(() => 'first'),
    { KEY: 'value' },
  );
  expect(await environments.names('first')).toEqual(['KEY']);
  expect(await environments.values('first', ['KEY'])).toEqual({ KEY: 'value' });
  expect(await environments.values('first', ['OTHER'])).toEqual({});
  expect(await environments.names('third')).toEqual([]);
  expect(await environments.values('third', ['KEY'])).toEqual({});
});

it('a workspace gets its secrets; values from the command line replace those of the oldest', async () => {
  const { environments } = tenantPortsOf(
    workerStoreWith(() => 'second'),
    { KEY: 'given' },
  );
  expect(await environments.names('second')).toEqual(['KEY', 'OTHER']);
  expect(await environments.values('second', ['KEY', 'OTHER'])).toEqual({
    KEY: 'given',
    OTHER: 'stored too',
  });
  const { environments: otherEnvironments } = tenantPortsOf(
    workerStoreWith(() => 'first'),
    { KEY: 'given' },
  );
  expect(await otherEnvironments.values('second', ['OTHER'])).toEqual({ OTHER: 'stored too' });
  expect(await otherEnvironments.values('second', ['KEY'])).toEqual({ KEY: 'stored' });
});

it('the oldest workspace is cached as soon as there is one', async () => {
  let oldestWorkspaceId: string | undefined;
  const { environments } = tenantPortsOf(
    workerStoreWith(() => oldestWorkspaceId),
    { KEY: 'value' },
  );
  expect(await environments.names('first')).toEqual([]);
  oldestWorkspaceId = 'first';
  expect(await environments.names('first')).toEqual(['KEY']);
  oldestWorkspaceId = 'third';
  expect(await environments.names('third')).toEqual([]);
});
