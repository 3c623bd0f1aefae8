import { resolveLimits, type JobLimits } from '../limits.ts';
import { resolveOptions, type SandboxOptions } from '../options.ts';
import type { Runner } from '../runners.ts';
import { NativeHost } from './host.ts';
import { NATIVE_LIMITS } from './limits.ts';
import { NativePool, type NativePoolOptions } from './native-pool.ts';

/** Native jobs start programs, which takes longer, so their CPU time limit is higher. */
const DEFAULT_JOB_LIMITS: Partial<JobLimits> = { cpuMs: 60_000 };

/** Runners of jobs with native images, by language. */
export interface NativeRunners {
  readonly javascript: Runner;
  readonly python: Runner;
  readonly shell: Runner;
  /** Returns why native code cannot run here, in sentences; undefined if it can. */
  findRefusal(): Promise<string | undefined>;
}

/**
 * Returns the runners of native jobs. Starts no process.
 * @throws SandboxError INVALID_OPTION.
 */
export function createNativeRunners(
  options: SandboxOptions,
  egressOptionsOf: NativePoolOptions['egressOptionsOf'],
): NativeRunners {
  const { maxProcesses, image: _, ...nativeLimits } = options.native ?? {};
  const poolOptions = resolveOptions(
    { ...options, ...(maxProcesses !== undefined && { maxProcesses }) },
    { maxProcesses: 'native.maxProcesses' },
  );
  const host = new NativeHost(options.isolation, poolOptions.execPath);
  const pool = new NativePool({
    ...poolOptions,
    host,
    egressOptionsOf,
    limits: { ...NATIVE_LIMITS, ...nativeLimits },
  });
  const limits = resolveLimits(DEFAULT_JOB_LIMITS, options.limits);
  const commonFields = { pool, limits, load: async () => undefined };
  return {
    javascript: { ...commonFields, kind: 'function' },
    python: { ...commonFields, kind: 'python' },
    shell: { ...commonFields, kind: 'shell' },
    findRefusal: () => host.findRefusal(),
  };
}
