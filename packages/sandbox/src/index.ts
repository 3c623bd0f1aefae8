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
export { probeIsolation } from './isolation/isolation.ts';
export type { IsolationLevel } from './isolation/level.ts';
export type { IsolationOptions } from './isolation/options.ts';
export type { IsolationCheck, IsolationReport } from './isolation/report.ts';
export { checkControlGroup } from './isolation/control-group.ts';
export { DEFAULT_RLIMITS } from './isolation/rlimits.ts';
export { sandboxVersions, type SandboxVersions } from './versions.ts';
export { isSandboxError, SandboxError, type SandboxFaultCode } from './error.ts';
