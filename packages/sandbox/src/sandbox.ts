import { createEgress } from './egress/egress.ts';
import { readEnding, readExpressions, readFunction, type Answer } from './answer.ts';
import { answerCall } from './fetch.ts';
import { Isolation } from './isolation/isolation.ts';
import type { IsolationLevel } from './isolation/level.ts';
import { flatten, type ExpressionJob, type FunctionJob } from './job.ts';
import { expressionLimits, resolveLimits } from './limits.ts';
import { resolveOptions, type SandboxOptions } from './options.ts';
import type { ExpressionOutcome, FunctionOutcome, SandboxFailure } from './outcome.ts';
import { Job } from './pool/job.ts';
import { Pool } from './pool/pool.ts';
import { javascriptProgram } from './programs.ts';

/** Counts since the start, and the state now. */
export interface SandboxStats {
  readonly processes: number;
  readonly queued: number;
  readonly running: number;
  /** Jobs ended, by `OK` or the code of their failure. */
  readonly totals: Readonly<Record<string, number>>;
  /** What the operating system does to the processes; null before the first job, which finds it out. */
  readonly isolation: IsolationLevel | null;
  /** Which jobs share an isolate. */
  readonly share: 'run' | 'tenant' | 'isolate';
}

/** Runs untrusted JavaScript in child processes, within limits. */
export interface Sandbox {
  /** The outcome of a function; rejects only for a malformed job (SandboxError). */
  run(job: FunctionJob): Promise<FunctionOutcome>;
  /** The outcome of expressions; rejects only for a malformed job (SandboxError). */
  evaluate(job: ExpressionJob): Promise<ExpressionOutcome>;
  /** Frees what is kept for a workflow run; call it when the run ends. */
  release(runId: string): void;
  stats(): SandboxStats;
  /** Ends all processes; jobs inside fail with SANDBOX_UNAVAILABLE. */
  close(): Promise<void>;
}

interface Request<T> extends Pick<Job, 'mode' | 'limits'> {
  readonly job: FunctionJob | ExpressionJob;
  /** The guest's arguments, or why there are none. */
  readonly args: Job['args'] | SandboxFailure;
  readonly read: (text: string) => T | null;
}

/** Sends a job through the pool, tied to its signal; `refusal` says why no job may run. */
function submit<T>(
  pool: Pool,
  { job, mode, limits, args, read }: Request<T>,
  refusal: string | null,
): Promise<Answer<T>> {
  const { runId, tenant = 'default', signal } = job;
  return new Promise((resolve) => {
    const refused = 'code' in args;
    const entry: Job = new Job({ runId, tenant, mode, limits, args: refused ? [] : args }, (ending) =>
      resolve(readEnding(ending, entry, read)),
    );
    if (refused) return entry.end({ failure: args });
    if (refusal !== null) return entry.fail('SANDBOX_UNAVAILABLE', refusal);
    if (signal?.aborted === true) return entry.fail('CANCELLED', 'The job was cancelled before it began.');
    if (signal !== undefined) {
      const cancel = (): void => pool.cancel(entry);
      signal.addEventListener('abort', cancel, { once: true });
      entry.onEnd(() => signal.removeEventListener('abort', cancel));
    }
    pool.submit(entry);
  });
}

/**
 * A sandbox; nothing is started before its first job.
 * @throws SandboxError INVALID_OPTION.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const resolved = resolveOptions(options);
  const share = options.share ?? 'run';
  const isolation = new Isolation(options.isolation, resolved.execPath);
  const base = resolveLimits(options.limits);
  const egress = createEgress(options.egress);
  const totals: Record<string, number> = { __proto__: null } as never;
  const send = options.fetch ?? ((request) => egress.fetch(request));
  const pool = new Pool({
    ...resolved,
    program: () => javascriptProgram(options.jit ?? false),
    confinement: () => isolation.confinement,
    memoryMiB: base.memoryMiB,
    keyOf: (job) => (share === 'run' ? `run/${job.runId}` : share === 'tenant' ? 'tenant' : ''),
    call: (job, call) => answerCall(job, call, send),
  });

  const execute = async <T>(request: Request<T>): Promise<Answer<T>> => {
    if (!isolation.isSettled) await isolation.settle();
    const answer = await submit(pool, request, isolation.refusal);
    const code = answer.ok ? 'OK' : answer.error.code;
    totals[code] = (totals[code] ?? 0) + 1;
    return answer;
  };

  return {
    async run(job) {
      const limits = resolveLimits(base, job.limits);
      const args = flatten(
        job.globals,
        [{ code: job.code, ...(job.values === undefined ? {} : { values: job.values }) }],
        limits,
      );
      const answer = await execute({ job, mode: 'function', limits, args, read: readFunction });
      return answer.ok
        ? { ok: true, json: answer.value, ...answer.usage }
        : { ok: false, error: answer.error, ...answer.usage };
    },
    async evaluate(job) {
      const limits = resolveLimits(base, expressionLimits(base), job.limits);
      const args = flatten(job.globals, job.expressions, limits);
      const read = (text: string) => readExpressions(text, job.expressions.length);
      const answer = await execute({ job, mode: job.mode, limits, args, read });
      if (!answer.ok) return { ok: false, index: answer.index, error: answer.error, ...answer.usage };
      return { ok: true, ...answer.value, ...answer.usage };
    },
    release: (runId) => pool.release(`run/${runId}`),
    stats: () => ({ ...pool.counts, totals: { ...totals }, isolation: isolation.level, share }),
    async close() {
      await pool.close();
      await egress.close();
    },
  };
}
