// Checks the Node.js version first, like every entry point.
import '@heddle/core/files';

export { type Binary, findServer, type FindOptions, type FoundServer, type ServerSource } from './find.ts';
export {
  type DevServer,
  type DevServerOptions,
  POLL_LIMITS,
  type SearchAttributeType,
  startDevServer,
  type StartResult,
} from './dev-server.ts';
export { type ExpectedServer, findReadinessProblem } from './readiness.ts';
export type { Env } from './command.ts';
