import { BlockError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { Engine, EngineOptions, ExecuteOptions, RunResource } from '@heddle/engine';
import { afterAll } from 'vitest';
import { Script } from '../../support/script.ts';
import { workflow } from '../../support/workflow.ts';
import type { TestWorkflowOptions, TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime, WhenDone } from './suite.ts';

/** A workflow and its run. Blocks of the type `work` complete or fail immediately. */
export interface TestRun {
  blocks: TestBlock[];
  edges: string[];
  workflowOptions?: TestWorkflowOptions;
  input?: Json;
  options?: ExecuteOptions;
  /** Names of the blocks of the type `work` that fail. */
  fails?: readonly string[];
}

/** The result of a run. */
export interface Outcome extends RunResource {
  /** The blocks of the type `work` that ran, each with its iteration and branch numbers (`A.0.1`), sorted. */
  ran: string;
}

/** An engine, and a function that runs a workflow on it. */
export interface WorkEngine {
  engine: Engine;
  runWorkflow(testRun: TestRun): Promise<Outcome>;
}

/** Opens an engine whose `work` blocks return their name as `{ by }`, or fail if `fails` contains it. */
export async function openWorkEngine(
  make: MakeRuntime,
  options: EngineOptions = {},
  whenDone?: WhenDone,
): Promise<WorkEngine> {
  let fails: readonly string[] = [];
  const script = new Script({}, ({ block }) => {
    if (fails.includes(block.name)) throw new BlockError('BLOCK_FAILED', `${block.name} does not work`);
    return { output: { by: block.name } };
  });
  const blocks = [script.executor, ...(options.blocks ?? [])];
  const engine = await make(whenDone).open({ ...options, blocks });
  return {
    engine,
    runWorkflow: async (testRun) => {
      fails = testRun.fails ?? [];
      script.calls.length = 0;
      const source = { workflow: workflow(testRun.blocks, testRun.edges, testRun.workflowOptions) };
      const result = await engine.execute(source, testRun.input ?? {}, testRun.options);
      return { ...result, ran: script.calls.toSorted().join(' ') };
    },
  };
}

/**
 * Returns a function that opens an engine with `openWorkEngine` at its first call and returns the same engine from then
 * on. All tests of a `describe` share it: starting sandbox processes for each of hundreds of tests would take minutes.
 */
export function sharedWorkEngine(make: MakeRuntime, options: EngineOptions = {}): () => Promise<WorkEngine> {
  const cleaners: (() => Promise<void> | void)[] = [];
  let workEngine: Promise<WorkEngine> | undefined;
  afterAll(async () => {
    for (const clean of cleaners.toReversed()) await clean();
  });
  return () => (workEngine ??= openWorkEngine(make, options, (clean) => void cleaners.push(clean)));
}
