// Begins, like every entry, with the check of the Node.js version.
import '@heddle/core/files';

export { findServer, type FindOptions, type FoundServer, type ServerSource } from './find.ts';
export {
  type DevServer,
  type DevServerOptions,
  type SearchAttributeType,
  startDevServer,
  type Started,
} from './dev-server.ts';
export { type Expected, whyNotReady } from './ready.ts';
export { POLL_LIMITS } from './poll-limits.ts';
export type { Binary } from './binary.ts';
export type { Env } from './command.ts';
