import { createEgress } from './egress/egress.ts';
import { endFailure, guestFailure, readObject } from './failure.ts';
import { answerCall } from './fetch.ts';
import { flatten, type ExpressionJob, type FunctionJob } from './job.ts';
import { EXPRESSION_LIMITS, resolveLimits } from './limits.ts';
import { resolveOptions, type SandboxOptions } from './options.ts';
import {
  failure,
  type ExpressionOutcome,
  type FunctionOutcome,
  type SandboxFailure,
  type Usage,
} from './outcome.ts';
import { Job, type Ending } from './pool/job.ts';
import { Pool } from './pool/pool.ts';

/** Counts since the start, and the state now. */
export interface SandboxStats {
  readonly processes: number;
  readonly queued: number;
  readonly running: number;
  /** Jobs ended, by `OK` or the code of their failure. */
  readonly totals: Readonly<Record<string, number>>;
  readonly isolation: 'run' | 'tenant' | 'isolate';
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

/** How a job's answer is read: the value, or the failure with the expression it belongs to. */
type Answer<T> =
  | { ok: true; value: T; usage: Usage }
  | { ok: false; error: SandboxFailure; index: number; usage: Usage };

const NO_USAGE: Usage = { stdout: '', cpuMs: 0, wallMs: 0 };

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The result of a function, which a process whose guest broke out could have made anything. */
function readFunction(text: string): string | null {
  return isJson(text) ? text : null;
}

function readExpressions(text: string, count: number): { index: number; json: string[] } | null {
  const fields = readObject(text);
  if (fields === null || !Object.hasOwn(fields, 'index') || !Object.hasOwn(fields, 'json')) return null;
  const { index, json } = fields;
  if (!Number.isInteger(index) || (index as number) < -1 || (index as number) >= count) return null;
  if (
    !Array.isArray(json) ||
    json.length > count ||
    !json.every((item) => typeof item === 'string' && isJson(item))
  )
    return null;
  return { index: index as number, json: json as string[] };
}

function readEnding<T>(ending: Ending, job: Job, read: (text: string) => T | null): Answer<T> {
  if ('failure' in ending) return { ok: false, error: ending.failure, index: -1, usage: NO_USAGE };
  const { code, text, stdout, cpuMs, wallMs } = ending.done;
  const usage = { stdout, cpuMs, wallMs };
  if (code === 'GUEST_ERROR') {
    const { failure: error, index } = guestFailure(text, job.mode === 'function' ? 'function' : 'expression');
    return { ok: false, error, index, usage };
  }
  if (code !== 'OK') return { ok: false, error: endFailure(code, text), index: -1, usage };
  const value = text.length <= job.limits.resultChars ? read(text) : null;
  if (value !== null) return { ok: true, value, usage };
  return {
    ok: false,
    error: failure('SANDBOX_PROTOCOL', 'The sandbox process sent a malformed result.'),
    index: -1,
    usage,
  };
}

/**
 * A sandbox; nothing is started before its first job.
 * @throws SandboxError INVALID_OPTION.
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const resolved = resolveOptions(options);
  const isolation = options.isolation ?? 'run';
  const base = resolveLimits(options.limits);
  const egress = createEgress(options.egress);
  const totals: Record<string, number> = { __proto__: null } as never;
  const send = options.fetch ?? ((request) => egress.fetch(request));
  const pool = new Pool({
    ...resolved,
    memoryMiB: base.memoryMiB,
    keyOf: (job) => (isolation === 'run' ? `run/${job.runId}` : isolation === 'tenant' ? 'tenant' : ''),
    call: (job, call) => answerCall(job, call, send),
  });

  const execute = async <T>(
    job: FunctionJob | ExpressionJob,
    spec: Pick<Job, 'mode' | 'limits'>,
    args: Job['args'] | SandboxFailure,
    read: (text: string) => T | null,
  ): Promise<Answer<T>> => {
    const answer = await new Promise<Answer<T>>((resolve) => {
      const tenant = job.tenant ?? 'default';
      const entry: Job = new Job(
        { ...spec, runId: job.runId, tenant, args: 'code' in args ? [] : args },
        (ending) => resolve(readEnding(ending, entry, read)),
      );
      if ('code' in args) return entry.end({ failure: args });
      const { signal } = job;
      if (signal?.aborted === true) return entry.fail('CANCELLED', 'The job was cancelled before it began.');
      if (signal !== undefined) {
        const cancel = (): void => pool.cancel(entry);
        signal.addEventListener('abort', cancel, { once: true });
        entry.onEnd(() => signal.removeEventListener('abort', cancel));
      }
      pool.submit(entry);
    });
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
      const answer = await execute(job, { mode: 'function', limits }, args, readFunction);
      return answer.ok
        ? { ok: true, json: answer.value, ...answer.usage }
        : { ok: false, error: answer.error, ...answer.usage };
    },
    async evaluate(job) {
      const limits = resolveLimits(base, EXPRESSION_LIMITS, job.limits);
      const args = flatten(job.globals, job.expressions, limits);
      const answer = await execute(job, { mode: job.mode, limits }, args, (text) =>
        readExpressions(text, job.expressions.length),
      );
      if (!answer.ok) return { ok: false, index: answer.index, error: answer.error, ...answer.usage };
      return { ok: true, ...answer.value, ...answer.usage };
    },
    release: (runId) => pool.release(`run/${runId}`),
    stats: () => ({ ...pool.counts, totals: { ...totals }, isolation }),
    async close() {
      await pool.close();
      await egress.close();
    },
  };
}
