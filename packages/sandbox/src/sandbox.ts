import { createEgress, type Egress } from './egress/egress.ts';
import { readJobResult, readExpressionResults, readFunctionResult, type JobResult } from './job-result.ts';
import { handleCall } from './fetch.ts';
import type { LoadedImage } from './image.ts';
import { Isolation } from './isolation/isolation.ts';
import type { IsolationLevel } from './isolation/options.ts';
import { toFlatArguments, type ExpressionJob, type FunctionJob } from './job.ts';
import { expressionLimits, resolveLimits, type JobLimits } from './limits.ts';
import { resolveOptions, type SandboxOptions, type ShareMode } from './options.ts';
import type { ExpressionOutcome, FunctionOutcome, SandboxFailure } from './outcome.ts';
import { Job, poolKeyOf } from './pool/job.ts';
import type { PoolMetrics } from './pool/meter.ts';
import type { WorkerKey } from './pool/pool-worker.ts';
import type { NativePoolOptions } from './native/native-pool.ts';
import { createNativeRunners } from './native/runners.ts';
import { routeJob, type AllRunners } from './route-job.ts';
import { createRunners, releaseRun, type Runner } from './runners.ts';

/** Numbers of processes, and of waiting and running jobs. */
interface Counts {
  readonly processes: number;
  readonly queued: number;
  readonly running: number;
}

/** Totals since the start, and the current state. */
export interface SandboxStats extends Counts {
  /** By language for isolates, and `native` for all native jobs. */
  readonly languages: Readonly<Record<'javascript' | 'python' | 'native', Counts>>;
  /** Measurements since the start. */
  readonly metrics: Readonly<Record<'javascript' | 'python' | 'native', PoolMetrics>>;
  /** Ended jobs, by `OK` or the code of their failure. */
  readonly totals: Readonly<Record<string, number>>;
  /** Isolation level of the processes; undefined until the first job or `warm` has determined it. */
  readonly isolation: IsolationLevel | undefined;
  /** The jobs that share an isolate. */
  readonly share: ShareMode;
}

/** Runs untrusted JavaScript, Python and shell scripts in child processes, within limits. */
export interface Sandbox {
  /** Runs a function. Rejects only for a malformed job (SandboxError). */
  run(job: FunctionJob): Promise<FunctionOutcome>;
  /** Evaluates expressions. Rejects only for a malformed job (SandboxError). */
  evaluate(job: ExpressionJob): Promise<ExpressionOutcome>;
  /** Starts a process for an upcoming job if there is room. Errors are reported when the job itself runs. */
  warm(job: Pick<FunctionJob, 'language' | 'tenant' | 'image'>): Promise<void>;
  /** Frees the isolates and interpreters of a workflow run. Call it when the run ends. */
  release(runId: string): void;
  stats(): SandboxStats;
  /** Ends all processes. Running jobs fail with SANDBOX_UNAVAILABLE. */
  close(): Promise<void>;
}

interface PreparedJob<T> extends Pick<Job, 'mode' | 'limits'> {
  readonly job: FunctionJob | ExpressionJob;
  readonly image: LoadedImage | undefined;
  /** The guest's arguments, or the failure of a job that cannot run. */
  readonly args: Job['args'] | SandboxFailure;
  readonly read: (text: string) => T | undefined;
}

/** Submits a job to its pool, and cancels it when its signal is aborted. `refusal`: the reason why no job may run. */
function submit<T>(
  { pool, kind }: Runner,
  { job, mode, limits, image, args, read }: PreparedJob<T>,
  refusal: string | undefined,
): Promise<JobResult<T>> {
  const { runId, tenant = 'default', signal } = job;
  return new Promise((resolve) => {
    const hasFailed = 'code' in args;
    const spec = {
      runId,
      tenant,
      mode,
      kind: mode === 'function' ? kind : 'expression',
      limits,
      image,
    } as const;
    const pooledJob: Job = new Job({ ...spec, args: hasFailed ? [] : args }, (outcome) =>
      resolve(readJobResult(outcome, pooledJob, read)),
    );
    if (hasFailed) return pooledJob.end({ failure: args });
    if (refusal !== undefined) return pooledJob.fail('SANDBOX_UNAVAILABLE', refusal);
    if (signal?.aborted === true)
      return pooledJob.fail('CANCELLED', 'The job was cancelled before it began.');
    if (signal !== undefined) {
      const cancel = (): void => pool.cancel(pooledJob);
      signal.addEventListener('abort', cancel, { once: true });
      pooledJob.onEnd(() => signal.removeEventListener('abort', cancel));
    }
    pool.submit(pooledJob);
  });
}

/** Returns the sum of each count. */
function sumCounts(counts: readonly Counts[]): Counts {
  const sumOf = (name: keyof Counts): number => counts.reduce((total, count) => total + count[name], 0);
  return { processes: sumOf('processes'), queued: sumOf('queued'), running: sumOf('running') };
}

/**
 * Creates a sandbox. Starts no process before its first job.
 * @throws SandboxError INVALID_OPTION.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const isolation = new Isolation(options.isolation, resolveOptions(options).execPath);
  const egress = createEgress(options.egress);
  const totals: Record<string, number> = { __proto__: null } as never;
  const send = options.fetch ?? ((request) => egress.fetch(request));
  const runners = createRunners(options, isolation, (job, call) => handleCall(job, call, send));

  const native = createNativeRunners(options, createNativeEgress(options, egress, send));
  const allRunners = { ...runners, native };
  const { share = 'run' } = options;

  const waitForIsolation = createIsolationWaiter(isolation);

  const execute = async <T>(runner: Runner, request: PreparedJob<T>): Promise<JobResult<T>> => {
    const { job, image, args } = request;
    const willNotRun = 'code' in args || job.signal?.aborted === true;
    if (!isolation.isProbed && !willNotRun) await waitForIsolation(runner, workerKeyFor(job.tenant, image));
    const result = await submit(runner, request, isolation.refusal);
    const code = result.ok ? 'OK' : result.error.code;
    totals[code] = (totals[code] ?? 0) + 1;
    return result;
  };

  return {
    async run(job) {
      const { runner, image, refusal } = await routeJob(job, options, allRunners);
      const limits = resolveLimits(runner.limits, job.limits);
      const args = refusal ?? flattenFunction(job, limits);
      // The result of a shell script was parsed where its output was read.
      const read = job.language === 'shell' ? (text: string) => text : readFunctionResult;
      const request = { job, mode: 'function', limits, args, image, read } as const;
      return toFunctionOutcome(await execute(runner, request));
    },
    async evaluate(job) {
      const { limits: defaultLimits } = runners.javascript;
      const limits = resolveLimits(defaultLimits, expressionLimits(defaultLimits), job.limits);
      const args = toFlatArguments(job.globals, job.expressions, limits);
      const read = (text: string) => readExpressionResults(text, job.expressions.length);
      const request = { job, mode: job.mode, limits, image: undefined, args, read };
      const result = await execute(runners.javascript, request);
      if (!result.ok) return { ok: false, index: result.index, error: result.error, ...result.usage };
      return { ok: true, ...result.value, ...result.usage };
    },
    async warm(job) {
      const { runner, image, refusal } = await routeJob({ runId: '', code: '', ...job }, options, allRunners);
      const workerKey = workerKeyFor(job.tenant, image);
      if (refusal !== undefined) return;
      if (!isolation.isProbed) await waitForIsolation(runner, workerKey);
      else if (isolation.refusal === undefined) runner.pool.warm(workerKey);
    },
    release: (runId) => releaseRun(runners, runId),
    stats: () => statsOf(allRunners, { totals: { ...totals }, isolation: isolation.level, share }),
    async close() {
      await closeAll(allRunners);
      await egress.close();
    },
  };
}

/** Returns the egress of native jobs. A custom `fetch` sees plain requests only, so tunnels are disabled with it. */
function createNativeEgress(
  { fetch }: SandboxOptions,
  egress: Egress,
  send: NonNullable<SandboxOptions['fetch']>,
): NativePoolOptions['egressOptionsOf'] {
  return ({ runId, tenant }) => ({
    send: (request, signal) => send({ ...request, signal }, { runId, tenant, signal }),
    resolveTarget: fetch === undefined ? (url) => egress.check(url) : undefined,
  });
}

async function closeAll({ javascript, python, native }: AllRunners): Promise<void> {
  const close = ({ pool, backgroundWork }: Runner) => Promise.all([pool.close(), backgroundWork?.close()]);
  await Promise.all([javascript, python, native.shell].map(close));
}

function toFunctionOutcome(result: JobResult<string>): FunctionOutcome {
  return result.ok
    ? { ok: true, json: result.value, ...result.usage }
    : { ok: false, error: result.error, ...result.usage };
}

function flattenFunction(job: FunctionJob, limits: JobLimits): ReturnType<typeof toFlatArguments> {
  const unit = { code: job.code, ...(job.values === undefined ? {} : { values: job.values }) };
  return toFlatArguments(job.globals, [unit], limits);
}

function workerKeyFor(tenant = 'default', image: LoadedImage | undefined): WorkerKey {
  return { tenant, poolKey: poolKeyOf(tenant, image), image };
}

/**
 * Creates a function that waits until the isolation is determined. In the meantime, it starts a process for
 * `workerKey`. This process gets no job before the end of the wait, and is replaced if its confinement does not match
 * the isolation.
 */
function createIsolationWaiter(
  isolation: Isolation,
): (runner: Runner, workerKey: WorkerKey) => Promise<void> {
  const waits = new Map<Runner, Promise<void>>();
  return (runner, workerKey) => {
    if (isolation.startProbe()) runner.pool.warm(workerKey);
    const wait =
      waits.get(runner) ??
      isolation.waitForProbe().then((isConfinementCorrect) => {
        if (!isConfinementCorrect) runner.pool.endEarlyProcesses();
      });
    waits.set(runner, wait);
    return wait;
  };
}

function statsOf(
  { javascript, python, native }: AllRunners,
  otherStats: Pick<SandboxStats, 'totals' | 'isolation' | 'share'>,
): SandboxStats {
  const pools = { javascript: javascript.pool, python: python.pool, native: native.shell.pool };
  const mapPools = <T>(read: (pool: Runner['pool']) => T): Record<keyof typeof pools, T> => ({
    javascript: read(pools.javascript),
    python: read(pools.python),
    native: read(pools.native),
  });
  const languages = mapPools((pool) => pool.counts);
  const metrics = mapPools((pool) => pool.metrics);
  return { ...sumCounts(Object.values(languages)), languages, metrics, ...otherStats };
}
