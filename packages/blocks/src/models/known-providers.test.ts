import { expect, it } from 'vitest';
import { knownProviders } from './known-providers.ts';
import { PROVIDER_NAMES, getProvider } from './providers.ts';

it('lists exactly the built-in providers that need a key, each with an https page for keys', () => {
  const namesWithKey = PROVIDER_NAMES.filter((name) => getProvider(name).keyVariables.length > 0);
  expect(knownProviders().map(({ id }) => id)).toEqual(namesWithKey);
  for (const { keyUrl } of knownProviders()) expect(new URL(keyUrl).protocol).toBe('https:');
});
