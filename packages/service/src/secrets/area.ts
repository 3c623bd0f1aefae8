import type { Area } from '@heddle/api';
import type { Sealer } from '../sealing.ts';
import type { ServiceStore } from '../store/open.ts';
import { SECRET_MIGRATIONS } from './migrations.ts';
import { deleteSecret, listSecrets, setSecretOperation } from './operations.ts';
import type { SecretServices } from './operations.ts';

export const SECRET_OPERATIONS = { listSecrets, setSecret: setSecretOperation, deleteSecret } as const;

/** Returns the area (a module of API operations with its own table) of secrets, which `sealer` encrypts. */
export function secrets(options: {
  store: ServiceStore;
  sealer: Sealer;
}): Area<SecretServices, typeof SECRET_OPERATIONS> {
  return {
    name: 'secrets',
    operations: SECRET_OPERATIONS,
    migrations: SECRET_MIGRATIONS,
    services: ({ now }) => ({ ...options, now }),
  };
}
