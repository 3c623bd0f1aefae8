/** The areas of the v2 interface that have tables, and the ports of the interface over a database. */
export { serviceAreas, servicePorts } from './compose.ts';
export type { ServiceAreaOptions, ServiceAreas, ServicePortOptions } from './compose.ts';
export type { RetentionLimits } from './logs/retention.ts';
export { openSandboxes } from './sandboxes/area.ts';
export type { Sandboxes, SandboxOptions } from './sandboxes/area.ts';
export { imageOfSandbox } from './sandboxes/store.ts';
export type { ImageStore } from './sandboxes/builds.ts';
export { KeyFolder, keysInText, missingKeys, Sealer, SealingError } from './sealing.ts';
export type { RotatableKeys, Sealed, SealingKey, SealingKeys } from './sealing.ts';
export { secretEnvironments } from './secrets/environments.ts';
export { rotateStoredSecrets } from './rotation.ts';
export type { Rotated } from './rotation.ts';
export { listSecrets, removeStoredSecret, setStoredSecret } from './secrets/manage.ts';
export type { SecretOwner, StoredSecret } from './secrets/manage.ts';
export { keyAuthenticator } from './store/keys.ts';
export type { ApiKeyInfo, KeyOwner } from './store/keys.ts';
export { openServiceOwnership, openServiceStore } from './store/open.ts';
export type { ServiceOwnership, ServiceStore, ServiceStoreOptions } from './store/open.ts';
