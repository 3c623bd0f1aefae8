/** Heddle's runtime on Temporal. */
export { registerSearchAttributes } from './register-attributes.ts';
export type { Encryption } from './encryption.ts';
export { temporal } from './temporal.ts';
export type { TemporalOptions } from './temporal.ts';
export type {
  BlockOptions,
  DeploymentOptions,
  ProcessRole,
  ServerOptions,
  StoreLocation,
  WorkerTuning,
} from './options.ts';
export { createWorker } from './worker/create-worker.ts';
export type { HeddleWorker, WorkerOptions } from './worker/create-worker.ts';
export type { StopOptions } from './worker/worker-group.ts';
export type { EndpointOptions } from './worker/endpoint.ts';
export type { TaskCounter } from './worker/task-meter.ts';
export type { WorkerStatus } from './worker/status.ts';
