import { fork, spawnSync } from 'node:child_process';
import { EventEmitter, on, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { baseline as agents } from '../agents/baseline.ts';
import { expectExpressionResults, expressionsOf, INPUT } from '../sandbox/code.ts';
import { loadIsolatedVm } from '../sandbox/load-isolated-vm.ts';
import { measureFirstOutput, DONE_OUTPUT } from '../sandbox/program.ts';
import { EMITTER_PROCESS } from '../streams/heddle.ts';
import { createMedianDelayWorkload, msSince } from '../streams/emitter.ts';
import { DURABLE_CHAIN_LENGTH, expectResult } from '../workload.ts';
import type { Contender, SelfMeasuringWorkload, TimedWorkload } from '../workload.ts';
import { measurePeakMemory } from './process.ts';

/**
 * Streams of texts: in one process, the text is an event of an emitter; between two processes, a message of the IPC
 * channel.
 */
const streams: Contender = {
  'first text': () => {
    const emitter = new EventEmitter();
    return createMedianDelayWorkload(
      async () => {
        setImmediate(() => emitter.emit('text', String(process.hrtime.bigint())));
        for await (const [time] of on(emitter, 'text')) return msSince(time as string);
        return 0;
      },
      () => undefined,
    );
  },
  'first text in another process': async () => {
    const child = fork(EMITTER_PROCESS, [], { execArgv: ['--no-warnings'] });
    await once(child, 'message');
    return createMedianDelayWorkload(
      async () => {
        child.send('emit');
        const [{ time }] = (await once(child, 'message')) as [{ time: string }];
        return msSince(time);
      },
      () => child.disconnect(),
    );
  },
};

async function step(n: number): Promise<number> {
  return n + 1;
}

/**
 * Returns a workload that commits once for each step, with a row as large as a journal entry. Concurrent runs share no
 * commits.
 */
function createCommitWorkload(concurrency: number): TimedWorkload {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const db = new DatabaseSync(join(folder, 'baseline.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  db.exec('CREATE TABLE steps (id INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, entry TEXT)');
  const insert = db.prepare('INSERT INTO steps (run, seq, entry) VALUES (?, ?, ?)');
  const entry = JSON.stringify({ type: 'completed', block: 'S1', scope: [], output: 'x'.repeat(100) });
  let runCount = 0;
  const runChain = async (): Promise<void> => {
    const runId = runCount++;
    let n = 0;
    for (; n < DURABLE_CHAIN_LENGTH; n = await step(n)) insert.run(runId, n, entry);
    expectResult(n, DURABLE_CHAIN_LENGTH);
  };
  return {
    runOnce: async () => void (await Promise.all(Array.from({ length: concurrency }, runChain))),
    close() {
      db.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/**
 * Returns a workload that creates new contexts in a warm isolate of this process: new globals, without a process
 * boundary, thread or guest API.
 */
function createIsolateWorkload(concurrency: number): TimedWorkload {
  const { Isolate } = loadIsolatedVm();
  const isolate = new Isolate({ memoryLimit: 64 });
  const evaluate = (): void => {
    const context = isolate.createContextSync();
    expectResult(context.evalClosureSync('return $0 + 1', [41]), 42);
    context.release();
  };
  return {
    runOnce() {
      for (let i = 0; i < concurrency; i++) evaluate();
    },
  };
}

/** Returns a workload that evaluates expressions in one new context of a warm isolate. */
function createExpressionWorkload(size: number): TimedWorkload {
  const { Isolate } = loadIsolatedVm();
  const isolate = new Isolate({ memoryLimit: 64 });
  return {
    runOnce() {
      const context = isolate.createContextSync();
      context.evalSync(`var n = ${INPUT}`);
      expectExpressionResults(expressionsOf(size).map((code) => context.evalSync(code) as number));
      context.release();
    },
  };
}

const createNodeMemoryWorkload = (): SelfMeasuringWorkload => ({
  sample: async () => measurePeakMemory(['-e', '0']),
});

/** The cost of the workloads without an engine. */
export const contender: Contender = {
  chain: (size) => ({
    async runOnce() {
      let n = 0;
      for (let i = 0; i < size; i++) n = await step(n);
      expectResult(n, size);
    },
  }),
  loop: (size) => ({
    async runOnce() {
      const results: number[] = [];
      for (let i = 0; i < size; i++) results.push(await step(0));
      expectResult(results.length, size);
    },
  }),
  'fan-out': (size) => ({
    async runOnce() {
      const results = await Promise.all(Array.from({ length: size }, () => step(0)));
      expectResult(await step(results[0] as number), 2);
    },
  }),
  durable: () => createCommitWorkload(1),
  'durable in flight': createCommitWorkload,
  sandbox: () => createIsolateWorkload(1),
  'sandbox in flight': createIsolateWorkload,
  expressions: createExpressionWorkload,
  'sandbox program': () => ({
    sample: () => measureFirstOutput(process.execPath, ['-e', `process.stdout.write('${DONE_OUTPUT}')`]),
  }),
  'cold start': () => ({
    async sample() {
      const startMs = performance.now();
      expectResult(spawnSync(process.execPath, ['-e', '0']).status, 0);
      return performance.now() - startMs;
    },
  }),
  'memory at start': createNodeMemoryWorkload,
  'sandbox memory': createNodeMemoryWorkload,
  ...agents,
  ...streams,
};
