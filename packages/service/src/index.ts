/** The areas of the v2 interface that have tables of their own. */
export type { LogOptions, Logs } from './logs/area.ts';
export { openLogs } from './logs/area.ts';
export type { RetentionLimits } from './logs/retention.ts';
export { openSandboxes } from './sandboxes/area.ts';
export type { Sandboxes, SandboxOptions } from './sandboxes/area.ts';
export type { ImageStore } from './sandboxes/builds.ts';
export { KeyFolder, keysInText, missingKeys, Sealer, SealingError } from './sealing.ts';
export type { RotatableKeys, Sealed, SealingKey, SealingKeys } from './sealing.ts';
export { secretEnvironments } from './secrets/environments.ts';
export { secretOperations } from './secrets/operations.ts';
export type { SecretServices } from './secrets/operations.ts';
export { listSecrets, removeStoredSecret, rotateStoredSecrets, setStoredSecret } from './secrets/manage.ts';
export type { Rotated, SecretOwner, StoredSecret } from './secrets/manage.ts';
export { openServiceOwnership, openServiceStore } from './store.ts';
export type { ServiceOwnership } from './store.ts';
export type { WorkflowServices } from './workflows/context.ts';
export { workflowOperations } from './workflows/operations.ts';
