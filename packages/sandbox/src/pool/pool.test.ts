import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { EgressResponse } from '../egress/types.ts';
import type { LoadedImage } from '../image.ts';
import { createSandbox, type FunctionOutcome, type Sandbox, type SandboxOptions } from '../index.ts';
import { recycleReasonOf } from './pool.ts';

let sandboxes: Sandbox[] = [];
afterEach(async () => {
  await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
  sandboxes = [];
});

function createTestSandbox(options: SandboxOptions = {}): Sandbox {
  const sandbox = createSandbox({ maxProcesses: 1, limits: { cpuMs: 25_000, wallMs: 25_000 }, ...options });
  sandboxes.push(sandbox);
  return sandbox;
}

const LOOP = 'for (;;);';
const WAIT = 'await new Promise(() => {})';

const summarize = (outcome: FunctionOutcome): string => (outcome.ok ? outcome.json : outcome.error.code);

async function run(
  sandbox: Sandbox,
  code: string,
  fields: { runId?: string; tenant?: string; signal?: AbortSignal } = {},
): Promise<string> {
  return summarize(await sandbox.run({ runId: 'r', code, ...fields }));
}

/** Resolves once the condition holds; the test's own timeout is its limit. */
async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe('the pool', () => {
  it('starts no process before the first job', async () => {
    const zeroCounts = { processes: 0, queued: 0, running: 0 };
    const sandbox = createTestSandbox();
    expect(sandbox.stats()).toEqual({
      processes: 0,
      queued: 0,
      running: 0,
      languages: expect.objectContaining({ javascript: zeroCounts, python: zeroCounts }) as unknown,
      metrics: expect.objectContaining({
        javascript: expect.objectContaining({ ended: {} }) as unknown,
      }) as unknown,
      totals: {},
      isolation: undefined,
      share: 'run',
    });
    expect(await run(sandbox, 'return 1')).toBe('1');
    expect(sandbox.stats()).toMatchObject({ processes: 1, running: 0, totals: { OK: 1 } });
  });

  it('interleaves waiting jobs in one process', async () => {
    const sandbox = createTestSandbox();
    const stopController = new AbortController();
    const jobs = Array.from({ length: 20 }, (_, i) =>
      run(sandbox, WAIT, { runId: `r${i % 3}`, signal: stopController.signal }),
    );
    await waitUntil(() => sandbox.stats().running === 20);
    expect(await run(sandbox, 'return 1')).toBe('1');
    expect(sandbox.stats().processes).toBe(1);
    stopController.abort();
    expect(new Set(await Promise.all(jobs))).toEqual(new Set(['CANCELLED']));
  });

  it('never fires a timer past the time limit of its job early, while another job extends the limit by holding the thread', async () => {
    const sandbox = createTestSandbox();
    const waitingJob = sandbox.run({
      runId: 'r',
      code: 'await new Promise((resolve) => setTimeout(resolve, 60_000))',
      limits: { wallMs: 100, killGraceMs: 20_000 },
    });
    const blockingJob = run(sandbox, 'const end = Date.now() + 1200; while (Date.now() < end); return 1');
    expect(await blockingJob).toBe('1');
    expect(summarize(await waitingJob)).toBe('TIMEOUT_WALL');
  });

  it('uses a second process when jobs wait behind a long one', async () => {
    const sandbox = createTestSandbox({ maxProcesses: 2 });
    await run(sandbox, 'return 0');
    const stopController = new AbortController();
    const longJob = run(sandbox, LOOP, { signal: stopController.signal });
    expect(await run(sandbox, 'return "short"')).toBe('"short"');
    stopController.abort();
    expect(await longJob).toBe('CANCELLED');
  });

  it('gives tenants their own processes and replaces idle ones of others', async () => {
    const sandbox = createTestSandbox({ maxProcesses: 1 });
    expect(await run(sandbox, 'return 1', { tenant: 'a' })).toBe('1');
    expect(await run(sandbox, 'return 2', { tenant: 'b' })).toBe('2');
    expect(await run(sandbox, 'return 3', { tenant: 'a' })).toBe('3');
  });

  it('serves a tenant while another one has endless work', async () => {
    const sandbox = createTestSandbox({ maxProcesses: 1 });
    const busyCode = 'const end = Date.now() + 20; while (Date.now() < end);';
    let isServed = false;
    const runJobsUntilServed = async (): Promise<void> => {
      while (!isServed) expect(await run(sandbox, busyCode, { tenant: 'a' })).toBe('null');
    };
    // More jobs than a process gets in advance, so the process is never idle.
    const jobLoops = Array.from({ length: 8 }, runJobsUntilServed);
    await waitUntil(() => sandbox.stats().running > 0);
    const otherJob = run(sandbox, 'return 1', { tenant: 'b' }).then((result) => ((isServed = true), result));
    await Promise.all(jobLoops);
    expect(await otherJob).toBe('1');
    // On a busy machine, the first tenant also gets its process back before the other job has ended.
    const { drained } = sandbox.stats().metrics.javascript.ended;
    expect([1, 2]).toContain(drained);
  });

  it('refuses jobs beyond its queue limit with SANDBOX_BUSY', async () => {
    const sandbox = createTestSandbox({ maxQueued: 3 });
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => run(sandbox, 'return 1')));
    expect(outcomes.filter((code) => code === 'SANDBOX_BUSY').length).toBe(3);
    expect(outcomes.filter((code) => code === '1').length).toBe(3);
  });

  it('refuses jobs that wait too long with SANDBOX_BUSY', async () => {
    const sandbox = createTestSandbox({ queueTimeoutMs: 1_500 });
    await run(sandbox, 'return 0');
    const stopController = new AbortController();
    const blockingJob = run(sandbox, LOOP, { signal: stopController.signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const outcome = await sandbox.run({ runId: 'r', code: 'return 1' });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'SANDBOX_BUSY', retryable: true } });
    stopController.abort();
    expect(await blockingJob).toBe('CANCELLED');
  });

  it('drains a busy process for a tenant that has none', async () => {
    const sandbox = createTestSandbox();
    await run(sandbox, 'return 0', { tenant: 'a' });
    const stopController = new AbortController();
    const blockingJob = run(sandbox, WAIT, { tenant: 'a', signal: stopController.signal });
    expect(await run(sandbox, 'return 1', { tenant: 'b' })).toBe('1');
    stopController.abort();
    expect(await blockingJob).toBe('CANCELLED');
    await waitUntil(() => sandbox.stats().processes === 1);
  });

  it('replaces a process after its maximum number of jobs', async () => {
    const sandbox = createTestSandbox({ recycle: { jobs: 3 } });
    for (let i = 0; i < 8; i++) expect(await run(sandbox, `return ${i}`)).toBe(String(i));
    expect(sandbox.stats().totals).toEqual({ OK: 8 });
  });

  it('stops idle processes', async () => {
    const sandbox = createTestSandbox({ idleMs: 20 });
    await run(sandbox, 'return 1');
    await waitUntil(() => sandbox.stats().processes === 0);
    expect(await run(sandbox, 'return 2')).toBe('2');
  });

  it('keeps working after a run was released', async () => {
    const sandbox = createTestSandbox();
    await run(sandbox, 'return 1');
    sandbox.release('r');
    sandbox.release('unknown');
    expect(await run(sandbox, 'return 2')).toBe('2');
  });

  it('reports SANDBOX_UNAVAILABLE if processes do not start', async () => {
    const sandbox = createTestSandbox({ execPath: '/nonexistent/node', isolation: { level: 'basic' } });
    expect(await sandbox.run({ runId: 'r', code: 'return 1' })).toMatchObject({
      ok: false,
      error: { message: 'Sandbox processes do not start (ENOENT).', retryable: true },
    });
  });

  it('reports SANDBOX_UNAVAILABLE if processes hang at their start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'heddle-hang-'));
    const execPath = join(folder, 'node');
    writeFileSync(execPath, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const sandbox = createTestSandbox({ execPath, startTimeoutMs: 50, isolation: { level: 'basic' } });
    expect(await sandbox.run({ runId: 'r', code: 'return 1' })).toMatchObject({
      ok: false,
      error: {
        code: 'SANDBOX_UNAVAILABLE',
        message: expect.stringContaining('not ready within 50 ms') as string,
      },
    });
    rmSync(folder, { recursive: true });
  });

  it('fails its jobs when it is closed, and refuses later ones', async () => {
    const sandbox = createTestSandbox();
    const job = run(sandbox, WAIT);
    await waitUntil(() => sandbox.stats().running === 1);
    await sandbox.close();
    expect(await job).toBe('SANDBOX_UNAVAILABLE');
    expect(await run(sandbox, 'return 1')).toBe('SANDBOX_UNAVAILABLE');
  });

  it('starts no process for waiting jobs after it is closed', async () => {
    const sandbox = createTestSandbox();
    await run(sandbox, 'return 1');
    const jobs = [run(sandbox, LOOP), run(sandbox, 'return 1'), run(sandbox, 'return 1')];
    await waitUntil(() => sandbox.stats().running === 3);
    const closing = sandbox.close();
    // The host is busy, so timers are due before it learns of the process's exit.
    for (const beganMs = performance.now(); performance.now() - beganMs < 50;);
    await closing;
    expect(await Promise.all(jobs)).toEqual(jobs.map(() => 'SANDBOX_UNAVAILABLE'));
    expect(sandbox.stats().processes).toBe(0);
  });
});

describe('cancelling', () => {
  it('before the start ends a job with CANCELLED', async () => {
    expect(await run(createTestSandbox(), 'return 1', { signal: AbortSignal.abort() })).toBe('CANCELLED');
  });

  it('ends a queued job', async () => {
    const sandbox = createTestSandbox();
    const stopController = new AbortController();
    const job = run(sandbox, 'return 1', { signal: stopController.signal });
    stopController.abort();
    expect(await job).toBe('CANCELLED');
    expect(sandbox.stats().queued).toBe(0);
  });

  it('ends a job in a loop by killing its process', async () => {
    const sandbox = createTestSandbox();
    await run(sandbox, 'return 0');
    const stopController = new AbortController();
    const job = run(sandbox, LOOP, { signal: stopController.signal });
    await waitUntil(() => sandbox.stats().running === 1);
    stopController.abort();
    expect(await job).toBe('CANCELLED');
    expect(await run(sandbox, 'return 1')).toBe('1');
  });

  it('ends a waiting job without affecting others', async () => {
    let respond = (): void => undefined;
    const response = new Promise<EgressResponse>((resolve) => {
      const [url, body] = ['http://a.test/', Buffer.from('"heard"')];
      respond = () => resolve({ status: 200, statusText: '', url, redirected: false, headers: [], body });
    });
    const sandbox = createTestSandbox({ fetch: () => response });
    const stopController = new AbortController();
    const otherJob = run(sandbox, 'return (await fetch("http://a.test/")).json()');
    const job = run(sandbox, WAIT, { signal: stopController.signal });
    await waitUntil(() => sandbox.stats().running === 2);
    await run(sandbox, 'return 0');
    stopController.abort();
    expect(await job).toBe('CANCELLED');
    respond();
    expect(await otherJob).toBe('"heard"');
    await waitUntil(() => sandbox.stats().running === 0);
  });

  it('retries other jobs of a killed process if they had no visible effects', async () => {
    const sandbox = createTestSandbox();
    const stopController = new AbortController();
    // Both attempts end at the same time.
    const end = Date.now() + 2_000;
    const otherJob = run(sandbox, `await new Promise((r) => setTimeout(r, ${end} - Date.now())); return 100`);
    await waitUntil(() => sandbox.stats().running === 1);
    await run(sandbox, 'return 0');
    const job = run(sandbox, LOOP, { signal: stopController.signal });
    await waitUntil(() => sandbox.stats().running === 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    stopController.abort();
    expect(await job).toBe('CANCELLED');
    expect(await otherJob).toBe('100');
  });

  it('fails other jobs of a killed process with SANDBOX_CRASHED if they have called the host', async () => {
    const calls: string[] = [];
    const sandbox = createTestSandbox({
      fetch: ({ url }) => {
        calls.push(url);
        return new Promise(() => {});
      },
    });
    const stopController = new AbortController();
    const otherJob = sandbox.run({ runId: 'r', code: 'await fetch("http://a.test/")' });
    await waitUntil(() => calls.length === 1);
    const job = run(sandbox, LOOP, { signal: stopController.signal });
    await waitUntil(() => sandbox.stats().running === 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    stopController.abort();
    expect(await job).toBe('CANCELLED');
    expect(await otherJob).toMatchObject({ ok: false, error: { code: 'SANDBOX_CRASHED', retryable: true } });
    expect(calls.length).toBe(1);
  });

  it('aborts the requests of the job', async () => {
    let signal: AbortSignal | undefined;
    const sandbox = createTestSandbox({
      fetch: (_request, context) => {
        signal = context.signal;
        return new Promise(() => {});
      },
    });
    const stopController = new AbortController();
    const job = run(sandbox, 'await fetch("http://a.test/")', { signal: stopController.signal });
    await waitUntil(() => signal !== undefined);
    stopController.abort();
    expect(await job).toBe('CANCELLED');
    expect(signal?.aborted).toBe(true);
  });
});

const RECYCLE = { jobs: 10, rssMiB: 420, ageMs: 1_000 };
const processBelowLimits = { completedJobCount: 9, rssMiB: 419, startedAtMs: 0, image: undefined };
const blob = { path: '/x', sha256: '', size: 30 * 2 ** 20 };
const image = { id: 'i', blobs: { 'site.zip': blob, 'memory.snap': blob } } as unknown as LoadedImage;

describe('a process of a pool', () => {
  it('is replaced at limits of jobs, age and memory', () => {
    expect(recycleReasonOf(processBelowLimits, RECYCLE, 999)).toBeUndefined();
    expect(recycleReasonOf({ ...processBelowLimits, completedJobCount: 10 }, RECYCLE, 999)).toBe('jobs');
    expect(recycleReasonOf({ ...processBelowLimits, rssMiB: 420 }, RECYCLE, 999)).toBe('memory');
    expect(recycleReasonOf(processBelowLimits, RECYCLE, 1_000)).toBe('age');
  });

  it('may be larger by twice the size of its image', () => {
    expect(recycleReasonOf({ ...processBelowLimits, rssMiB: 420, image }, RECYCLE, 0)).toBeUndefined();
    expect(recycleReasonOf({ ...processBelowLimits, rssMiB: 540, image }, RECYCLE, 0)).toBe('memory');
  });
});
