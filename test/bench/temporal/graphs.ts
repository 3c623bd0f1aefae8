import { compile, parseWorkflow } from '@heddle/core';
import type { BlockExecutor, Json, Plan } from '@heddle/core';
import { block, parallel, workflow } from '../../support/workflow.ts';
import { loopOf } from '../contenders/workflows.ts';
import type { Job } from './contender.ts';

/** A compute block and an effect block that increment the output of the previous block. */
export const STEP_EXECUTORS: readonly BlockExecutor[] = (['compute', 'effect'] as const).map((kind) => ({
  types: [kind === 'compute' ? 'step' : 'effect-step'],
  class: kind,
  execute: (context) => ({ output: { n: ((context.sourceOutput()['n'] as number | undefined) ?? 0) + 1 } }),
}));

const plans = new Map<string, Plan>();

/** Returns the plan of a job, compiled once. */
export function planOf(job: Job): Plan {
  const key = JSON.stringify(job);
  const plan = plans.get(key) ?? compilePlan(workflowOf(job));
  plans.set(key, plan);
  return plan;
}

/** Returns how many steps a run has executed, according to its output. */
export function countExecutedSteps({ graph }: Job, output: unknown): number {
  if (graph === 'empty') return 0;
  if (graph === 'compute' || graph === 'effects') return (output as { n: number }).n;
  return (output as { results: unknown[] }).results.length;
}

function workflowOf({ graph, size, maxConcurrent }: Job): Json {
  if (graph === 'compute') return chain(size, 'step');
  if (graph === 'effects') return chain(size, 'effect-step');
  if (graph === 'loop') return loopOf(size);
  if (graph === 'empty') return workflow([], []);
  if (graph === 'pause') return workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);
  return branches(size, maxConcurrent ?? 1, graph === 'branches' ? 'step' : 'effect-step');
}

function chain(size: number, type: string): Json {
  const names = Array.from({ length: size }, (_, i) => `S${i + 1}`);
  return workflow(
    names.map((name) => block(name, type)),
    [['Start', ...names].join(' -> ')],
  );
}

function branches(count: number, batchSize: number, type: string): Json {
  const exportedWorkflow = workflow(
    [parallel('All', { parallelType: 'count', count, batchSize }, block('Step', type))],
    ['Start -> All', 'All -> Step'],
  ) as { state: { [name: string]: Json } };
  // Batches of an exported workflow have at most twenty branches, unless its metadata names Heddle.
  return { ...exportedWorkflow, state: { ...exportedWorkflow.state, metadata: { engine: 'heddle' } } };
}

function compilePlan(exportedWorkflow: Json): Plan {
  const { workflow: parsed, diagnostics } = parseWorkflow(exportedWorkflow);
  const blockTypes = STEP_EXECUTORS.flatMap(({ types, class: kind }) =>
    types.map((type) => ({ type, class: kind })),
  );
  const result = parsed && compile(parsed, { blockTypes });
  if (!result?.ok) throw new Error(`The workflow does not compile: ${JSON.stringify(result ?? diagnostics)}`);
  return result.plan;
}
