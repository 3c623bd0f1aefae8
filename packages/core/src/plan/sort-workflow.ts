import type { Json, JsonObject } from '../json.ts';
import type { Block, Workflow } from '../schema/workflow.ts';

/**
 * The workflow with the keys of every authored object in code-unit order; blocks keep the order of the file.
 *
 * JSON objects have no order: two files that differ only in it compile to one plan.
 */
export function sortWorkflow(workflow: Workflow): Workflow {
  return {
    ...workflow,
    blocks: workflow.blocks.map(sortBlock),
    variables: workflow.variables
      .map((variable) => ({ ...variable, value: sortKeys(variable.value) }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    stored: workflow.stored
      .map((entry) => ({ ...entry, container: sortObject(entry.container) }))
      .toSorted((a, b) => (`${a.kind} ${a.id}` < `${b.kind} ${b.id}` ? -1 : 1)),
  };
}

function sortBlock(block: Block): Block {
  const { fields, container, outputs, retry, timeoutMs } = block;
  return {
    ...block,
    fields: sortObject(fields),
    container: sortObject(container),
    outputs: sortObject(outputs),
    ...(retry !== undefined && { retry: sortKeys(retry) }),
    ...(timeoutMs !== undefined && { timeoutMs: sortKeys(timeoutMs) }),
  };
}

function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  return typeof value === 'object' && value !== null ? sortObject(value) : value;
}

function sortObject(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(object)
      .toSorted()
      .map((key) => [key, sortKeys(object[key] as Json)]),
  );
}
