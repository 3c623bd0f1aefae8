import { BlockError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import type {
  ChildOutcome,
  ChildRequest,
  ChildWorkflow,
  EngineContext,
  EngineExecutor,
  ExecutorServices,
} from './services.ts';
import { toCallChainItem } from './call-chain.ts';
import { asText } from './values.ts';

/** Maximum depth of workflows that call each other. */
export const MAX_DEPTH = 25;

/** Runs another workflow as a child run. Its output becomes `result`. */
export const childExecutor: EngineExecutor = {
  types: ['workflow', 'workflow_input'],
  class: 'child',
  execute: (context) => runChild(context),
};

async function runChild(context: EngineContext): Promise<BlockResult> {
  const reference = asText(context.field('workflowId')).trim();
  if (reference === '')
    throw new BlockError('BLOCK_CONFIG_INVALID', 'The child block has no workflow.', {
      retryable: false,
    });
  const createInput = (workflow: ChildWorkflow): Json => inputFor(context, workflow);
  const { workflow, output } = await callWorkflow(context.services, { reference, createInput });
  return {
    output: {
      success: true,
      childWorkflowName: workflow.name,
      childWorkflowId: workflow.workflowId,
      result: output,
    },
  };
}

/** A call to a workflow. `createInput` returns the input for the workflow that `reference` names. */
export interface WorkflowCall extends Pick<ChildRequest, 'call' | 'otherWorkDone'> {
  /** Id or name of the workflow. */
  reference: string;
  createInput: (workflow: ChildWorkflow) => Json;
}

/**
 * Returns the output of a workflow that runs as a child run. Throws CHILD_DEPTH, CHILD_CYCLE, CHILD_NOT_FOUND,
 * CHILD_FAILED.
 */
export async function callWorkflow(
  services: Pick<ExecutorServices, 'run' | 'findChild' | 'runChild'>,
  { reference, createInput, ...callOptions }: WorkflowCall,
): Promise<{ workflow: ChildWorkflow; output: JsonObject }> {
  if (services.run.depth >= MAX_DEPTH) {
    throw new BlockError(
      'CHILD_DEPTH',
      `Workflows call each other more than ${MAX_DEPTH} levels deep. Check whether a workflow calls itself.`,
      { retryable: false },
    );
  }
  const workflow = await services.findChild(reference, callOptions.call);
  if (workflow === undefined) {
    throw new BlockError(
      'CHILD_NOT_FOUND',
      `There is no workflow "${reference}": deploy it, or pass the folder that contains it.`,
      { retryable: false, details: { workflow: reference } },
    );
  }
  // Named calls are made by a model, which could call the same workflow again at every level of a cycle.
  if (callOptions.call !== undefined) requireNoCycle(services.run.callChain, workflow);
  const outcome = await services.runChild({ workflow, input: createInput(workflow), ...callOptions });
  if (outcome.status !== 'completed') throw childFailure(workflow, outcome);
  return { workflow, output: outcome.output };
}

function requireNoCycle(callChain: readonly string[], { workflowId, name }: ChildWorkflow): void {
  if (!callChain.includes(toCallChainItem(workflowId))) return;
  throw new BlockError(
    'CHILD_CYCLE',
    `The workflow "${name}" cannot be called here: one of its runs waits for this run. Answer without it.`,
    { retryable: false, details: { workflow: workflowId } },
  );
}

function inputFor(context: EngineContext, workflow: ChildWorkflow): Json {
  const mapping = context.block.type === 'workflow_input' ? context.field('inputMapping') : undefined;
  if (mapping !== undefined && mapping !== null && mapping !== '') return mapInputs(mapping, workflow);
  return context.field('input') ?? {};
}

/** Returns the mapped inputs. Omits keys that the child does not declare, if it declares any. */
function mapInputs(mapping: Json, { inputs, name }: ChildWorkflow): JsonObject {
  if (!isJsonObject(mapping)) {
    throw new BlockError('BLOCK_CONFIG_INVALID', `The inputs for the workflow "${name}" are not an object.`, {
      retryable: false,
    });
  }
  if (inputs.length === 0) return mapping;
  const names = new Set(inputs.map((input) => input.name));
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => names.has(key)));
}

/** Returns the failure, with the chain of workflows from the called workflow to the failed one. */
function childFailure(
  { name }: ChildWorkflow,
  outcome: Exclude<ChildOutcome, { status: 'completed' }>,
): BlockError {
  if (outcome.status === 'cancelled') {
    return new BlockError('CHILD_FAILED', `The workflow "${name}" was cancelled.`, {
      retryable: false,
      details: { chain: [name], childRunId: outcome.runId },
    });
  }
  const { error } = outcome;
  const innerFailure = error.code === 'CHILD_FAILED' ? chainOf(error.details) : undefined;
  const chain = [name, ...(innerFailure?.chain ?? [])];
  const cause =
    innerFailure?.cause ??
    (error.blockName === undefined ? error.message : `${error.blockName}: ${error.message}`);
  const path = chain.map((workflowName) => `"${workflowName}"`).join(' → ');
  const text =
    chain.length === 1 ? `The workflow ${path} failed: ${cause}` : `The workflows ${path} failed: ${cause}`;
  return new BlockError('CHILD_FAILED', text, {
    retryable: false,
    details: { chain, cause, childRunId: outcome.runId },
  });
}

function chainOf(details: Json | undefined): { chain: string[]; cause: string } | undefined {
  if (!isJsonObject(details)) return undefined;
  const chain = getOwn(details, 'chain');
  const cause = getOwn(details, 'cause');
  if (!Array.isArray(chain) || typeof cause !== 'string') return undefined;
  return { chain: chain.filter((workflowName) => typeof workflowName === 'string'), cause };
}
