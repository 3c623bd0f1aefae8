import { createHash } from 'node:crypto';
import { StartupPackageCache } from './startup-package-cache.ts';
import type { LoadedImage } from './image.ts';
import type { Isolation } from './isolation/isolation.ts';
import { PYTHON_LIMITS, resolveLimits, type JobLimits } from './limits.ts';
import { resolveOptions, resolvePythonOptions, type SandboxOptions } from './options.ts';
import { HostSnapshot } from './host-snapshot.ts';
import type { Job } from './pool/job.ts';
import type { PoolOptions } from './pool/options.ts';
import { Pool } from './pool/pool.ts';
import { javascriptProgram, pythonProgram } from './programs.ts';
import type { UnitKind } from './protocol.ts';

/** Languages of functions that run in isolates. */
export type Language = 'javascript' | 'python';

/** Runs the functions of one language. */
export interface Runner {
  readonly pool: Pick<
    Pool,
    'submit' | 'cancel' | 'counts' | 'close' | 'warm' | 'endEarlyProcesses' | 'release' | 'metrics'
  >;
  readonly kind: UnitKind;
  /** Limits of jobs that set none. */
  readonly limits: JobLimits;
  /** Reads the parts of an image that processes need. Throws SandboxError IMAGE_FAILED. */
  readonly load: (image: LoadedImage) => Promise<void>;
  /** Background work other than running jobs. */
  readonly backgroundWork?: { close(): Promise<void> };
}

const keyOfRun = (runId: string): string => `run/${runId}`;

/**
 * Creates the function that returns the key of a Python job. Jobs with the same key share an interpreter: those of one
 * run with the same code. Nothing isolates the modules and JavaScript globals of an interpreter, so blocks with
 * different code, which may have other secrets or authors, do not share one.
 */
function createPythonIsolateKeyOf(): (job: Job) => string {
  const keys = new WeakMap<Job, string>();
  return (job) => {
    let key = keys.get(job);
    if (key === undefined) {
      // The number of globals, their names and values, and the number of units precede the code.
      const code = job.args[2 + 2 * (job.args[0] as number)] as string;
      key = `${keyOfRun(job.runId)}\n${createHash('sha256').update(code).digest('base64url')}`;
      keys.set(job, key);
    }
    return key;
  };
}

/** Discards the isolates or interpreters of a workflow run. */
export function releaseRun(runners: Readonly<Record<Language, Runner>>, runId: string): void {
  for (const { pool } of Object.values(runners)) pool.release(keyOfRun(runId));
}

/**
 * Returns the runners by language. Starts no process.
 * @throws SandboxError INVALID_OPTION.
 */
export function createRunners(
  options: SandboxOptions,
  isolation: Isolation,
  handleHostCall: PoolOptions['handleHostCall'],
): Record<Language, Runner> {
  const share = options.share ?? 'run';
  const commonOptions = { getConfinement: () => isolation.confinement, handleHostCall };
  const limits = resolveLimits(options.limits);
  const pythonLimits = resolveLimits(PYTHON_LIMITS, options.limits);
  const javascriptIsolateKeyOf = (job: Job): string =>
    share === 'run' ? keyOfRun(job.runId) : share === 'tenant' ? 'tenant' : '';
  const packageCache = new StartupPackageCache();
  const javascript = new Pool({
    ...resolveOptions(options),
    ...commonOptions,
    programOf: () => javascriptProgram(options.jit ?? false),
    startupPackagesOf: (image) => packageCache.get(image),
    memoryMiB: limits.memoryMiB,
    isolateKeyOf: javascriptIsolateKeyOf,
  });
  const folder = options.python?.folder;
  const pythonOptions = { ...resolvePythonOptions(options), ...commonOptions };
  const { memoryMiB } = pythonLimits;
  const hostSnapshot =
    folder === undefined ? undefined : new HostSnapshot({ ...pythonOptions, folder, memoryMiB });
  const python = new Pool({
    ...pythonOptions,
    programOf: (image) => pythonProgram(image, hostSnapshot?.path),
    memoryMiB,
    isolateKeyOf: share === 'none' ? () => '' : createPythonIsolateKeyOf(),
  });
  return {
    javascript: { pool: javascript, kind: 'function', limits, load: (image) => packageCache.load(image) },
    python: {
      pool: python,
      kind: 'python',
      limits: pythonLimits,
      load: async () => undefined,
      ...(hostSnapshot && { backgroundWork: hostSnapshot }),
    },
  };
}
