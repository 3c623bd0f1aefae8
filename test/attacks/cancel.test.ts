import {
  createSandbox,
  type FunctionOutcome,
  type ImageSource,
  type LoadedImage,
  type Sandbox,
} from '@heddle/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sample } from '../support/scale.ts';
import { sampleLevels } from './levels.ts';
import { filterAlive, watchNewProcesses } from './processes.ts';
import { watchHost } from './watch.ts';

/** Resolves when the condition holds. The timeout of the test limits it. */
async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

const PYTHON_LOOP = 'while True: pass';
const LOOP = 'for (;;);';
const WAIT = 'await new Promise(() => {})';

/** A state in which a job is cancelled. */
interface State {
  readonly name: string;
  readonly language?: 'javascript' | 'python';
  readonly code: string;
  /** The code of earlier jobs that keep the job in the queue. */
  readonly blockingCode?: string;
  /** Whether an earlier job starts the process. */
  readonly warm?: boolean;
  /** Returns whether the job is in the state. `callCount` is the number of calls to the host. */
  readonly isReached: (sandbox: Sandbox, callCount: number) => boolean;
  /** Whether the job blocks the thread of its process, so that the process must end. */
  readonly blocksThread: boolean;
}

const isRunning = (sandbox: Sandbox): boolean => sandbox.stats().running > 0;

const STATES: readonly State[] = [
  {
    name: 'queued behind another',
    code: 'return 1',
    blockingCode: LOOP,
    warm: true,
    isReached: (sandbox) => sandbox.stats().running > 0,
    blocksThread: true,
  },
  {
    name: 'while its process boots',
    code: 'return 1',
    isReached: (sandbox) => sandbox.stats().processes > 0,
    blocksThread: false,
  },
  { name: 'in a loop', code: LOOP, warm: true, isReached: isRunning, blocksThread: true },
  {
    name: 'in a loop that catches errors',
    code: 'for (;;) try { for (;;); } catch {} finally { continue }',
    warm: true,
    isReached: isRunning,
    blocksThread: true,
  },
  {
    name: 'in arithmetic that cannot be interrupted',
    code: 'let a = 2n ** 50000000n; for (;;) a * a',
    warm: true,
    isReached: isRunning,
    blocksThread: true,
  },
  {
    name: 'waiting for a promise that never settles',
    code: WAIT,
    warm: true,
    isReached: isRunning,
    blocksThread: false,
  },
  {
    name: 'waiting for a timer',
    code: 'await new Promise((r) => setTimeout(r, 60000))',
    warm: true,
    isReached: isRunning,
    blocksThread: false,
  },
  {
    name: 'in a host call',
    code: 'await fetch("http://a.test/")',
    isReached: (_sandbox, callCount) => callCount > 0,
    blocksThread: false,
  },
  {
    name: 'in a host call, and then a loop',
    code: 'fetch("http://a.test/"); for (;;);',
    isReached: (_sandbox, callCount) => callCount > 0,
    blocksThread: true,
  },
  {
    name: 'while it collects garbage',
    code: 'const a = []; for (;;) { a.push(new Array(1e4).fill(0)); if (a.length > 100) a.length = 0 }',
    warm: true,
    isReached: isRunning,
    blocksThread: true,
  },
  {
    name: 'while its interpreter boots',
    language: 'python',
    code: 'return 1',
    isReached: (sandbox) => sandbox.stats().processes > 0,
    blocksThread: false,
  },
  {
    name: 'in a loop of Python',
    language: 'python',
    code: PYTHON_LOOP,
    isReached: isRunning,
    blocksThread: true,
  },
  {
    name: 'while Python sleeps',
    language: 'python',
    code: 'import time\ntime.sleep(60)',
    isReached: isRunning,
    blocksThread: false,
  },
  {
    name: 'while Python waits for the host',
    language: 'python',
    code: 'import requests\nrequests.get("http://a.test/")',
    isReached: (_sandbox, callCount) => callCount > 0,
    blocksThread: true,
  },
];

/** A quick run samples states of each language. */
const JAVASCRIPT_STATES = sample(
  STATES.filter(({ language }) => language === undefined),
  6,
  'states in which JavaScript is cancelled',
);
const PYTHON_STATES = sample(
  STATES.filter(({ language }) => language === 'python'),
  2,
  'states in which Python is cancelled',
);

watchHost();

describe.each(sampleLevels())('a job whose signal is aborted, isolation $name', ({ options }) => {
  it.each([...JAVASCRIPT_STATES, ...PYTHON_STATES])(
    'ends, and so does its process if the job blocks the thread: $name',
    async (state) => {
      const { language = 'javascript', code, blockingCode, warm, isReached, blocksThread } = state;
      let callCount = 0;
      const limits = { cpuMs: 25_000, wallMs: 25_000 };
      const readNewPids = watchNewProcesses();
      const sandbox = createSandbox({
        ...options,
        maxProcesses: 1,
        python: { maxProcesses: 1 },
        limits,
        fetch: () => {
          callCount++;
          return new Promise(() => {});
        },
      });
      onTestFinished(() => sandbox.close());
      if (warm === true) await sandbox.run({ runId: 'r', language, code: 'return 0' });
      const controller = new AbortController();
      const { signal } = controller;
      const otherJobs =
        blockingCode === undefined
          ? []
          : Array.from({ length: 5 }, () => sandbox.run({ runId: 'r', code: blockingCode, signal }));
      const job = sandbox.run({ runId: 'r', language, code, signal });
      await waitUntil(() => isReached(sandbox, callCount));
      const pids = readNewPids();
      controller.abort();
      const outcomes: FunctionOutcome[] = await Promise.all([job, ...otherJobs]);
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
      expect(await sandbox.run({ runId: 'r', language, code: 'return 1' })).toMatchObject({
        ok: true,
        json: '1',
      });
      expect(sandbox.stats()).toMatchObject({ queued: 0, running: 0 });
      await waitUntil(() => !blocksThread || filterAlive(pids).length === 0);
      await sandbox.close();
      // No process of the sandbox remains after it is closed, not even an orphan.
      await waitUntil(() => filterAlive(pids).length === 0);
      expect(filterAlive(pids)).toEqual([]);
    },
  );

  it('ends immediately while its image is opened', async () => {
    const imageLoad = Promise.withResolvers<LoadedImage>();
    const openCalled = Promise.withResolvers<void>();
    const images: ImageSource = {
      open: () => {
        openCalled.resolve();
        return imageLoad.promise;
      },
    };
    const sandbox = createSandbox({ ...options, images });
    onTestFinished(() => sandbox.close());
    const controller = new AbortController();
    const job = sandbox.run({ runId: 'r', code: 'return 1', image: 'late', signal: controller.signal });
    await openCalled.promise;
    controller.abort();
    expect(await job).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
    imageLoad.reject(new Error('no code awaits this'));
    expect(sandbox.stats()).toMatchObject({ processes: 0, queued: 0, totals: { CANCELLED: 1 } });
  });

  it.each([
    ['JavaScript', 'javascript' as const],
    ['Python', 'python' as const],
  ])(
    'during the transfer of a large result of %s either completes or is cancelled',
    async (_name, language) => {
      const sandbox = createSandbox({ ...options, maxProcesses: 1, python: { maxProcesses: 1 } });
      onTestFinished(() => sandbox.close());
      const code = language === 'python' ? 'return "x" * 3_000_000' : 'return "x".repeat(3_000_000)';
      await sandbox.run({ runId: 'r', language, code });
      for (let round = 0; round < 8; round++) {
        const controller = new AbortController();
        const job = sandbox.run({ runId: 'r', language, code, signal: controller.signal });
        for (let turn = 0; turn < round * 4; turn++) await new Promise((resolve) => setImmediate(resolve));
        controller.abort();
        const outcome = await job;
        expect(outcome.ok ? outcome.json.length : outcome.error.code).toSatisfy(
          (lengthOrCode) => lengthOrCode === 3_000_002 || lengthOrCode === 'CANCELLED',
        );
      }
      expect(await sandbox.run({ runId: 'r', language, code: 'return 1' })).toMatchObject({
        ok: true,
        json: '1',
      });
    },
  );

  it('at the moment of its end either completes or is cancelled', async () => {
    const sandbox = createSandbox({ ...options, maxProcesses: 1 });
    onTestFinished(() => sandbox.close());
    await sandbox.run({ runId: 'r', code: 'return 0' });
    const outcomeTexts = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const controller = new AbortController();
      const job = sandbox.run({ runId: 'r', code: `return ${round}`, signal: controller.signal });
      for (let turn = 0; turn < round % 12; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      const outcome = await job;
      outcomeTexts.add(outcome.ok ? String(outcome.json === String(round)) : outcome.error.code);
    }
    expect([...outcomeTexts].filter((text) => text !== 'true' && text !== 'CANCELLED')).toEqual([]);
    await waitUntil(() => sandbox.stats().running === 0);
    expect(await sandbox.run({ runId: 'r', code: 'return 1' })).toMatchObject({ ok: true });
  });
});
