/** Runs untrusted JavaScript within limits of time, memory, output and reach. */
export { createSandbox, type Sandbox, type SandboxStats } from './sandbox.ts';
export type { FetchContext, SandboxOptions } from './options.ts';
export type { ExpressionJob, FunctionJob } from './job.ts';
export { DEFAULT_LIMITS, EXPRESSION_MS, type Limits } from './limits.ts';
export type {
  ExpressionOutcome,
  FunctionOutcome,
  SandboxErrorCode,
  SandboxFailure,
  Usage,
} from './outcome.ts';
export { isSandboxError, SandboxError, type SandboxFaultCode } from './error.ts';
