import { expect, it } from 'vitest';
import { ownershipOf } from './api-store.ts';

const records = (oldest: () => string | undefined) => ({
  resolveChild: async () => undefined,
  tenant: async () => undefined,
  oldestWorkspace: async () => oldest(),
});

it('gives the values of the command line only to the oldest workspace', async () => {
  const { environments } = ownershipOf(
    records(() => 'first'),
    { KEY: 'value' },
  );
  expect(await environments.names('first')).toEqual(['KEY']);
  expect(await environments.values('first', ['KEY'])).toEqual({ KEY: 'value' });
  expect(await environments.names('second')).toEqual([]);
  expect(await environments.values('second', ['KEY'])).toEqual({});
});

it('remembers the oldest workspace, and looks again while there is none', async () => {
  let oldest: string | undefined;
  const { environments } = ownershipOf(
    records(() => oldest),
    { KEY: 'value' },
  );
  expect(await environments.names('first')).toEqual([]);
  oldest = 'first';
  expect(await environments.names('first')).toEqual(['KEY']);
  oldest = 'second';
  expect(await environments.names('second')).toEqual([]);
});
