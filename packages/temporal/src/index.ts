/** Heddle's runtime on Temporal. */
export { temporal } from './temporal.ts';
export type { TemporalOptions } from './temporal.ts';
export type {
  BlockOptions,
  DeploymentOptions,
  Role,
  ServerOptions,
  StoreOptions,
  WorkerTuning,
} from './options.ts';
export { findServer, startDevServer } from './server/index.ts';
export type { DevServer, DevServerOptions, FindOptions, FoundServer } from './server/index.ts';
