/**
 * The areas (modules of API operations with their own tables) and the ports of the v2 API, which store their data in a
 * database, and the sealing of secrets and credentials.
 */
export { serviceAreas, servicePorts, triggerWorkerAreas } from './compose.ts';
export type {
  ServiceAreaOptions,
  ServiceAreas,
  ServicePortOptions,
  TriggerWorkerAreaOptions,
} from './compose.ts';
export type { TriggerType } from './triggers/types.ts';
export type { RetentionLimits } from './retention/area.ts';
export { openSandboxes } from './sandboxes/area.ts';
export type { Sandboxes, SandboxAreaOptions } from './sandboxes/area.ts';
export { imageIdOfSandbox } from './sandboxes/store.ts';
export type { ImageStore } from './sandboxes/builds.ts';
export { KeyFolder, parseKeys, missingKeys, Sealer, SealingError } from './sealing.ts';
export type { RotatableKeys, SealedValue, SealingKey, SealingKeys } from './sealing.ts';
export { secretEnvironments } from './secrets/environments.ts';
export { resealStoredSecrets } from './reseal.ts';
export type { ResealResult } from './reseal.ts';
export { listSecrets, removeStoredSecret, setStoredSecret } from './secrets/manage.ts';
export type { SecretRef, StoredSecret } from './secrets/manage.ts';
export { keyAuthenticator } from './store/keys.ts';
export type { ApiKeyInfo, KeyOwner } from './store/keys.ts';
export { openWorkerStore, openServiceStore } from './store/open.ts';
export type { WorkerStore, ServiceStore, ServiceStoreOptions } from './store/open.ts';
