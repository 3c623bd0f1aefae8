import './node-version.ts';

/** Runs untrusted JavaScript, Python and native code within limits of time, memory, output and network access. */
export { createSandbox, type Sandbox, type SandboxStats } from './sandbox.ts';
export type { FetchContext, SandboxOptions } from './options.ts';
export type { ImageBlob, ImageFeatures, ImageSource, LoadedImage } from './image.ts';
export type { ExpressionJob, FunctionJob } from './job.ts';
export { DEFAULT_LIMITS, EXPRESSION_LIMIT_MS, type JobLimits } from './limits.ts';
export type {
  ExpressionOutcome,
  FunctionOutcome,
  JobErrorCode,
  SandboxFailure,
  JobUsage,
} from './outcome.ts';
export { probeIsolation } from './isolation/isolation.ts';
export type { IsolationLevel, IsolationOptions } from './isolation/options.ts';
export type { IsolationCheck, IsolationReport } from './isolation/report.ts';
export { checkControlGroup } from './isolation/control-group.ts';
export { DEFAULT_RLIMITS } from './isolation/host-tools.ts';
export { sandboxVersions, type SandboxVersions } from './programs.ts';
export { isSandboxError, SandboxError, type SandboxErrorCode } from './error.ts';
