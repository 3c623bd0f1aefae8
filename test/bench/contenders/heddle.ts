import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, parseWorkflow } from '@heddle/core';
import type { BlockExecutor, Plan } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { createSandbox } from '@heddle/sandbox';
import { DURABLE_CHAIN_LENGTH, expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { heddle as agents } from '../agents/heddle.ts';
import { heddle as streams } from '../streams/heddle.ts';
import { heddle as triggers } from '../triggers/heddle.ts';
import { createColdStartWorkload, createStartMemoryWorkload } from './heddle-process.ts';
import { createOutputMemoryWorkload } from './heddle-outputs.ts';
import { chainOf, fanOutOf, loopOf } from './workflows.ts';

/** The step of all contenders: it increments the output of the previous step. */
const step: BlockExecutor = {
  types: ['step'],
  class: 'compute',
  execute: (context) => ({ output: { n: ((context.sourceOutput()['n'] as number | undefined) ?? 0) + 1 } }),
};

function planOf(workflow: unknown): Plan {
  const { workflow: parsed } = parseWorkflow(workflow);
  const compiled = parsed && compile(parsed, { blockTypes: [{ type: 'step', class: 'compute' }] });
  if (!compiled?.ok) throw new Error(`The workflow does not compile: ${JSON.stringify(compiled)}`);
  return compiled.plan;
}

function openEngine(folder: string | undefined): Promise<Engine> {
  return createEngine({ blocks: [step], ...(folder !== undefined && { data: folder }) });
}

/** Returns a workload: a run of a plan. Each sample has a new engine, so that no earlier run occupies memory. */
function createRunWorkload(plan: Plan, check: (output: unknown) => void): TimedWorkload {
  let engine: Engine | undefined;
  return {
    async beforeSample() {
      await engine?.close();
      engine = await openEngine(undefined);
    },
    async runOnce() {
      const { status, output } = await (engine as Engine).execute({ plan }, {});
      expectResult(status, 'completed');
      check(output);
    },
  };
}

function createDurableRunsWorkload(concurrency: number): TimedWorkload {
  const plan = planOf(chainOf(DURABLE_CHAIN_LENGTH));
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const enginePromise = openEngine(folder);
  return {
    async runOnce() {
      const engine = await enginePromise;
      const pendingRuns = Array.from({ length: concurrency }, () => engine.execute({ plan }, {}));
      for (const { output } of await Promise.all(pendingRuns))
        expectResult((output as { n: number }).n, DURABLE_CHAIN_LENGTH);
    },
    async close() {
      await (await enginePromise).close();
      rmSync(folder, { recursive: true });
    },
  };
}

function createSandboxJobsWorkload(concurrency: number): TimedWorkload {
  const sandbox = createSandbox();
  const job = { runId: 'run', code: 'return n + 1', values: { n: '41' } };
  return {
    async runOnce() {
      for (const outcome of await Promise.all(Array.from({ length: concurrency }, () => sandbox.run(job))))
        expectResult(outcome.ok && outcome.json, '42');
    },
    close: () => sandbox.close(),
  };
}

export const contender: Contender = {
  chain: (size) =>
    createRunWorkload(planOf(chainOf(size)), (output) => expectResult((output as { n: number }).n, size)),
  loop: (size) =>
    createRunWorkload(planOf(loopOf(size)), (output) =>
      expectResult((output as { results: unknown[] }).results.length, size),
    ),
  'fan-out': (size) =>
    createRunWorkload(planOf(fanOutOf(size)), (output) => expectResult((output as { n: number }).n, 2)),
  durable: () => createDurableRunsWorkload(1),
  'durable in flight': createDurableRunsWorkload,
  sandbox: () => createSandboxJobsWorkload(1),
  'sandbox in flight': createSandboxJobsWorkload,
  compile: (size) => {
    const { workflow } = parseWorkflow(chainOf(size));
    if (!workflow) throw new Error('The workflow cannot be parsed.');
    const blocks = [{ type: 'step', class: 'compute' }] as const;
    return { runOnce: () => expectResult(compile(workflow, { blockTypes: blocks }).ok, true) };
  },
  'cold start': createColdStartWorkload,
  'memory at start': createStartMemoryWorkload,
  'memory of outputs': createOutputMemoryWorkload,
  ...agents,
  ...streams,
  ...triggers,
};
