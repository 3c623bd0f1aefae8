import { compile, parseWorkflow } from '@heddle/core';
import type { Plan } from '@heddle/core';
import { blockTypeInfos, createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { ScriptedExecutor } from './scripted-executor.ts';
import { workflow } from './workflow.ts';
import type { TestWorkflowOptions, TestBlock } from './workflow.ts';

/** Compiles a test workflow, which may have blocks of the type `work`. */
export function compilePlan(blocks: TestBlock[], edges: string[], options: TestWorkflowOptions = {}): Plan {
  const parsed = parseWorkflow(workflow(blocks, edges, options));
  if (!parsed.workflow) throw new Error(JSON.stringify(parsed.diagnostics));
  const registry = createRegistry(builtInExecutors, [new ScriptedExecutor().executor]);
  const result = compile(parsed.workflow, { blockTypes: blockTypeInfos(registry) });
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result.plan;
}
