import type { JsonObject } from '@heddle/core/blocks';
import type { SchemaCheck } from '../agent/json-schema.ts';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { permanentError } from '../openapi/call.ts';
import { missingFieldsProblem, trimmedStringOrEmpty } from './arguments.ts';
import type { ArgumentDefinitions } from './arguments.ts';

/** An integration: its tools by their ids, and the operations of its block. */
interface IntegrationTools<Tool> {
  title: string;
  operations: { readonly [operation: string]: string };
  tools: { readonly [id: string]: Tool };
}

/** Returns the first tool that a name selects, by its operation or its id; without names, the first tool. */
export function selectTool<Tool>(
  { operations, tools }: IntegrationTools<Tool>,
  names: readonly string[],
): { id: string; tool: Tool } | undefined {
  const candidates = names.length > 0 ? names : Object.keys(operations).slice(0, 1);
  for (const name of candidates) {
    const id = Object.hasOwn(operations, name) ? operations[name] : name;
    const tool = id !== undefined && Object.hasOwn(tools, id) ? tools[id] : undefined;
    if (id !== undefined && tool) return { id, tool };
  }
  return undefined;
}

/** Returns the operation and the tool id in an item of an agent's field "tools", if they are set. */
export function toolNamesIn(config: JsonObject): string[] {
  return [config['operation'], config['toolId']].filter(
    (name): name is string => typeof name === 'string' && name !== '',
  );
}

/** Returns the tool that the field "operation" of a block selects. Throws BLOCK_CONFIG_INVALID. */
export function toolOfBlock<SelectedTool>(
  context: Context,
  { title, operations }: IntegrationTools<unknown>,
  find: (names: readonly string[]) => SelectedTool | undefined,
): SelectedTool {
  const operation = trimmedStringOrEmpty(context.field('operation'));
  const selectedTool = find(operation === '' ? [] : [operation]);
  if (selectedTool) return selectedTool;
  const supportedOperations = Object.keys(operations).join(', ');
  throw invalidConfigError(
    context,
    `has the operation "${operation.slice(0, 100)}", which ${title} does not support: use ${supportedOperations}`,
  );
}

/**
 * Throws BLOCK_CONFIG_INVALID for missing arguments of a block, TOOL_ARGUMENTS_INVALID for arguments that do not match
 * the schema of the tool.
 */
export function requireArguments(
  context: Context,
  args: JsonObject,
  { id, definition, problemsOf }: { id: string; definition: ArgumentDefinitions; problemsOf: SchemaCheck },
): void {
  const missingProblem = missingFieldsProblem(definition, args);
  if (missingProblem !== undefined) throw invalidConfigError(context, missingProblem);
  const problems = problemsOf(args);
  if (problems !== undefined)
    throw permanentError(
      'TOOL_ARGUMENTS_INVALID',
      `The block "${context.block.name}" has fields that do not match the tool "${id}": ${problems}`,
    );
}
