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
