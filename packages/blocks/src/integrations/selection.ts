import type { JsonObject } from '@heddle/core/blocks';
import type { SchemaCheck } from '../agent/json-schema.ts';
import type { Context } from '../define.ts';
import { invalid } from '../invalid.ts';
import { permanentError } from '../openapi/call.ts';
import { missingFieldsProblem, trimmedStringOrEmpty } from './arguments.ts';
import type { WithArguments } from './arguments.ts';

/** An integration: its tools by their ids, and the operations of its block. */
interface WithTools<Tool> {
  title: string;
  operations: { readonly [operation: string]: string };
  tools: { readonly [id: string]: Tool };
}

/** Returns the first tool that a name selects, by its operation or its id; without names, the first tool. */
export function selectTool<Tool>(
  { operations, tools }: WithTools<Tool>,
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

/** Returns the operation and the tool id in an entry of an agent's field "tools", if they are set. */
export function toolNamesIn(entry: JsonObject): string[] {
  return [entry['operation'], entry['toolId']].filter(
    (name): name is string => typeof name === 'string' && name !== '',
  );
}

/** Returns the tool that the field "operation" of a block selects. Throws BLOCK_CONFIG_INVALID. */
export function toolOfBlock<Found>(
  context: Context,
  { title, operations }: WithTools<unknown>,
  find: (names: readonly string[]) => Found | undefined,
): Found {
  const operation = trimmedStringOrEmpty(context.field('operation'));
  const found = find(operation === '' ? [] : [operation]);
  if (found) return found;
  const supported = Object.keys(operations).join(', ');
  throw invalid(
    context,
    `has the operation "${operation.slice(0, 100)}", which ${title} does not support: use ${supported}`,
  );
}

/**
 * Throws BLOCK_CONFIG_INVALID for missing arguments of a block, TOOL_ARGUMENTS_INVALID for arguments that do not match
 * the schema of the tool.
 */
export function expectArguments(
  context: Context,
  args: JsonObject,
  { id, definition, problemsOf }: { id: string; definition: WithArguments; problemsOf: SchemaCheck },
): void {
  const missingProblem = missingFieldsProblem(definition, args);
  if (missingProblem !== undefined) throw invalid(context, missingProblem);
  const problems = problemsOf(args);
  if (problems !== undefined)
    throw permanentError(
      'TOOL_ARGUMENTS_INVALID',
      `The block "${context.block.name}" has fields that do not match the tool "${id}": ${problems}`,
    );
}
