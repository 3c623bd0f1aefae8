import { BlockError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { Engine, EngineOptions, ExecuteOptions, RunResource } from '@heddle/engine';
import { afterAll } from 'vitest';
import { ScriptedExecutor } from '../../support/scripted-executor.ts';
import { workflow } from '../../support/workflow.ts';
import type { TestWorkflowOptions, TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime, RegisterCleanup } from './runtime-under-test.ts';

/** A workflow, and the input and options of its run. Blocks of the type `work` complete or fail immediately. */
export interface TestRun {
  blocks: TestBlock[];
  edges: string[];
  workflowOptions?: TestWorkflowOptions;
  input?: Json;
  options?: ExecuteOptions;
  /** Names of the blocks of the type `work` that fail. */
  failingBlocks?: readonly string[];
}

/** The result of a run. */
export interface TestRunResult extends RunResource {
  /** The blocks of the type `work` that ran, each with its iteration and branch numbers (`A.0.1`), sorted. */
  executedBlocks: string;
}

/** An engine, and a function that runs a workflow on it. */
export interface TestEngine {
  engine: Engine;
  runWorkflow(testRun: TestRun): Promise<TestRunResult>;
}

/** Opens an engine whose `work` blocks return their name as `{ blockName }`, or fail if `failingBlocks` contains it. */
export async function openTestEngine(
  makeRuntime: MakeRuntime,
  options: EngineOptions = {},
  registerCleanup?: RegisterCleanup,
): Promise<TestEngine> {
  let failingBlocks: readonly string[] = [];
  const scriptedExecutor = new ScriptedExecutor({}, ({ block }) => {
    if (failingBlocks.includes(block.name))
      throw new BlockError('BLOCK_FAILED', `${block.name} does not work`);
    return { output: { blockName: block.name } };
  });
  const blocks = [scriptedExecutor.executor, ...(options.blocks ?? [])];
  const engine = await makeRuntime(registerCleanup).open({ ...options, blocks });
  return {
    engine,
    runWorkflow: async (testRun) => {
      failingBlocks = testRun.failingBlocks ?? [];
      scriptedExecutor.calls.length = 0;
      const source = { workflow: workflow(testRun.blocks, testRun.edges, testRun.workflowOptions) };
      const result = await engine.execute(source, testRun.input ?? {}, testRun.options);
      return { ...result, executedBlocks: scriptedExecutor.calls.toSorted().join(' ') };
    },
  };
}

/**
 * Returns a function that opens an engine with `openTestEngine` at its first call and returns the same engine from then
 * on. All tests of a `describe` share it: starting sandbox processes for each of hundreds of tests would take minutes.
 */
export function sharedTestEngine(
  makeRuntime: MakeRuntime,
  options: EngineOptions = {},
): () => Promise<TestEngine> {
  const cleanups: (() => Promise<void> | void)[] = [];
  let testEnginePromise: Promise<TestEngine> | undefined;
  afterAll(async () => {
    for (const clean of cleanups.toReversed()) await clean();
  });
  return () =>
    (testEnginePromise ??= openTestEngine(makeRuntime, options, (clean) => void cleanups.push(clean)));
}
