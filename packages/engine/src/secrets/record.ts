import type { SecretStore } from '@heddle/core/blocks';

/** A secret store over an object of names and values. */
export function recordSecrets(record: { readonly [name: string]: string }): SecretStore {
  const values = { ...record };
  return {
    get: (name) => (Object.hasOwn(values, name) ? values[name] : undefined),
    values: () => ({ ...values }),
  };
}
