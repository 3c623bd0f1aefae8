import { isBlockError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { BlockError, BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { compileSchema, requireMatch } from '../agent/json-schema.ts';
import type { SchemaCheck } from '../agent/json-schema.ts';
import type { OfferedTool } from '../agent/callable-tool.ts';
import type { Context } from '../define.ts';
import { readArguments, credentialIdIn } from '../integrations/arguments.ts';
import { requireArguments, toolNamesIn, toolOfBlock, selectTool } from '../integrations/selection.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { withRetries } from '../openapi/retry.ts';
import { withoutArguments } from '../openapi/service-tools.ts';
import { argumentsSchema, operationsOf } from './native-integration.ts';
import type { NativeToolCall, NativeIntegration, NativeTool } from './native-integration.ts';
import { bindReferences } from './statement.ts';

interface SelectedTool {
  id: string;
  tool: NativeTool;
  schema: JsonObject;
  problemsOf: SchemaCheck;
}

/** Returns a tool by its operation or its id; without names, the first tool. */
function toolOf(integration: NativeIntegration, names: readonly string[]): SelectedTool | undefined {
  const selectedTool = selectTool(integration, names);
  if (!selectedTool) return undefined;
  const schema = argumentsSchema(selectedTool.tool);
  return {
    ...selectedTool,
    schema,
    problemsOf: compileSchema(schema, (problem) => new Error(`${selectedTool.id} ${problem}`)),
  };
}

/** Returns the integration with the default operation for blocks and agents' tools of this type in first place. */
function withDefaultOperationFirst(
  integration: NativeIntegration,
  type: Json | undefined,
): NativeIntegration {
  return typeof type === 'string'
    ? { ...integration, operations: operationsOf(integration, type) }
    : integration;
}

/** Runs a block of a native integration once. Throws a BlockError. */
export async function runNativeIntegration(
  context: Context,
  nativeIntegration: NativeIntegration,
): Promise<BlockResult> {
  const integration = withDefaultOperationFirst(nativeIntegration, context.block.type);
  const { id, tool, problemsOf } = toolOfBlock(context, integration, (names) => toolOf(integration, names));
  const { args, values } = blockArguments(context, tool);
  requireArguments(context, args, { id, definition: tool, problemsOf });
  const settings = readArguments(
    { arguments: integration.settings },
    (name, mode) => context.field(name, mode),
    (problem) => invalidConfigError(context, problem),
  );
  const credentialId = credentialIdIn((name) => context.field(name));
  const output = await context.step(
    id,
    ({ idempotencyKey }) => callTool(tool, { args, values, settings, credentialId, idempotencyKey, context }),
    { idempotent: tool.idempotent },
  );
  return { output: isJsonObject(output) ? output : { data: output } };
}

/** Returns the arguments of a block, and the values of the references in its statements. */
function blockArguments(context: Context, tool: NativeTool): { args: JsonObject; values: Json[] } {
  const statementFields = new Set(
    Object.entries(tool.arguments).flatMap(([name, { isSqlStatement, fields = [name] }]) =>
      isSqlStatement ? fields : [],
    ),
  );
  const params = context.field('params', 'json');
  const offset = Object.hasOwn(tool.arguments, 'params') && Array.isArray(params) ? params.length : 0;
  const values: Json[] = [];
  const configError = (problem: string): BlockError => invalidConfigError(context, problem);
  const args = readArguments(
    tool,
    (name, mode) => {
      const value = context.field(name, mode);
      if (!statementFields.has(name) || !Array.isArray(value)) return value;
      return bindReferences(value, {
        values,
        offset,
        errorFor: (problem) => configError(`has a "${name}" that ${problem}`),
      });
    },
    configError,
  );
  return { args, values };
}

/** Returns the tool that an item of an agent's field "tools" names; undefined if the integration does not have it. */
export function createNativeTool(
  context: Context,
  config: JsonObject,
  integration: NativeIntegration,
): OfferedTool | undefined {
  const selectedTool = toolOf(withDefaultOperationFirst(integration, config['type']), toolNamesIn(config));
  if (!selectedTool) return undefined;
  const { id, tool, schema, problemsOf } = selectedTool;
  const params = isJsonObject(config['params']) ? config['params'] : {};
  const configError = (problem: string): BlockError => invalidConfigError(context, problem);
  const read = (name: string): Json | undefined => getOwn(params, name);
  const authorArgs = readArguments(tool, read, configError);
  for (const [name, { isSqlStatement, blocksOnly }] of Object.entries(tool.arguments))
    // In agents' tools, values of references are inserted as text: they could change the statement.
    if ((isSqlStatement || blocksOnly) && Object.hasOwn(authorArgs, name))
      throw configError(
        `has "${name}" set in its tool "${id}", which only a block of ${integration.title} can have`,
      );
  requireDependencies(tool, authorArgs, (name, other) =>
    configError(
      `has "${name}" set in its tool "${id}", but not "${other}": a model could choose where it is sent`,
    ),
  );
  const hiddenNames = Object.keys(tool.arguments).filter(
    (name) => tool.arguments[name]?.blocksOnly ?? tool.arguments[name]?.dependsOn,
  );
  const settings = readArguments({ arguments: integration.settings }, read, configError);
  const credentialId = credentialIdIn(
    (name) => read(name) ?? (name === 'credential' ? config['credentialId'] : undefined),
  );
  const inputSchema = withoutArguments(schema, new Set([...Object.keys(authorArgs), ...hiddenNames]));
  return {
    definition: {
      type: 'function',
      name: id,
      description: tool.description,
      inputSchema: inputSchema as never,
    },
    isIdempotent: () => tool.idempotent,
    run: async (modelArgs, { idempotencyKey }) => {
      const visibleArgs = Object.fromEntries(
        Object.entries(modelArgs).filter(([name]) => !hiddenNames.includes(name)),
      );
      const args = { ...visibleArgs, ...authorArgs };
      requireMatch(args, problemsOf);
      return callTool(tool, { args, values: [], settings, credentialId, idempotencyKey, context });
    },
  };
}

/** Throws the result of `errorFor` if the author sets an argument without the argument that names its destination. */
function requireDependencies(
  { arguments: toolArguments }: NativeTool,
  authorArgs: JsonObject,
  errorFor: (name: string, other: string) => BlockError,
): void {
  for (const [name, { dependsOn }] of Object.entries(toolArguments))
    if (dependsOn !== undefined && Object.hasOwn(authorArgs, name) && !Object.hasOwn(authorArgs, dependsOn))
      throw errorFor(name, dependsOn);
}

function callTool(tool: NativeTool, call: NativeToolCall): Promise<Json> {
  return withRetries<Json>(
    call.context,
    async () => {
      try {
        return await tool.run(call);
      } catch (error) {
        if (isBlockError(error)) return error;
        throw error;
      }
    },
    ({ retryable }) => retryable,
  );
}
