import { isBlockError, isJsonObject, own } from '@heddle/core/blocks';
import type { BlockError, BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { compileSchema, expectMatch } from '../agent/json-schema.ts';
import type { SchemaCheck } from '../agent/json-schema.ts';
import type { OfferedTool } from '../agent/ready-tool.ts';
import type { Context } from '../define.ts';
import { argumentsFrom, credentialIdIn } from '../integrations/arguments.ts';
import { expectArguments, toolNamesIn, toolOfBlock, selectTool } from '../integrations/selection.ts';
import { invalid } from '../invalid.ts';
import { withRetries } from '../openapi/retry.ts';
import { withoutArguments } from '../openapi/service-tools.ts';
import { argumentsSchema, operationsOf } from './driver.ts';
import type { DriverCall, DriverIntegration, DriverTool } from './driver.ts';
import { bindReferences } from './statement.ts';

interface SelectedTool {
  id: string;
  tool: DriverTool;
  schema: JsonObject;
  problemsOf: SchemaCheck;
}

/** Returns a tool by its operation or its id; without names, the first tool. */
function toolOf(integration: DriverIntegration, names: readonly string[]): SelectedTool | undefined {
  const selected = selectTool(integration, names);
  if (!selected) return undefined;
  const schema = argumentsSchema(selected.tool);
  return {
    ...selected,
    schema,
    problemsOf: compileSchema(schema, (why) => new Error(`${selected.id} ${why}`)),
  };
}

/** Returns the integration with the default operation for blocks and agents' tools of this type in first place. */
function withOperationsOf(integration: DriverIntegration, type: Json | undefined): DriverIntegration {
  return typeof type === 'string'
    ? { ...integration, operations: operationsOf(integration, type) }
    : integration;
}

/** Runs a block of a driver integration once. Throws a BlockError. */
export async function runDriver(context: Context, driver: DriverIntegration): Promise<BlockResult> {
  const integration = withOperationsOf(driver, context.block.type);
  const { id, tool, problemsOf } = toolOfBlock(context, integration, (names) => toolOf(integration, names));
  const { args, values } = blockArguments(context, tool);
  expectArguments(context, args, { id, definition: tool, problemsOf });
  const settings = argumentsFrom(
    { arguments: integration.settings },
    (name, mode) => context.field(name, mode),
    (why) => invalid(context, why),
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
function blockArguments(context: Context, tool: DriverTool): { args: JsonObject; values: Json[] } {
  const statements = new Set(
    Object.entries(tool.arguments).flatMap(([name, { statement, fields = [name] }]) =>
      statement ? fields : [],
    ),
  );
  const params = context.field('params', 'json');
  const offset = Object.hasOwn(tool.arguments, 'params') && Array.isArray(params) ? params.length : 0;
  const values: Json[] = [];
  const configError = (why: string): BlockError => invalid(context, why);
  const args = argumentsFrom(
    tool,
    (name, mode) => {
      const value = context.field(name, mode);
      if (!statements.has(name) || !Array.isArray(value)) return value;
      return bindReferences(value, {
        values,
        offset,
        errorFor: (why) => configError(`has a "${name}" that ${why}`),
      });
    },
    configError,
  );
  return { args, values };
}

/** Returns the tool that an entry in an agent's field "tools" names; undefined if the integration does not have it. */
export function offerDriverTool(
  context: Context,
  entry: JsonObject,
  integration: DriverIntegration,
): OfferedTool | undefined {
  const selected = toolOf(withOperationsOf(integration, entry['type']), toolNamesIn(entry));
  if (!selected) return undefined;
  const { id, tool, schema, problemsOf } = selected;
  const params = isJsonObject(entry['params']) ? entry['params'] : {};
  const configError = (why: string): BlockError => invalid(context, why);
  const read = (name: string): Json | undefined => own(params, name);
  const authorArgs = argumentsFrom(tool, read, configError);
  for (const [name, { statement, blocksOnly }] of Object.entries(tool.arguments))
    // In agents' tools, values of references are inserted as text: they could change the statement.
    if ((statement || blocksOnly) && Object.hasOwn(authorArgs, name))
      throw configError(
        `has "${name}" set in its tool "${id}", which only a block of ${integration.title} can have`,
      );
  expectTogether(tool, authorArgs, (name, other) =>
    configError(
      `has "${name}" set in its tool "${id}", but not "${other}": a model could choose where it is sent`,
    ),
  );
  const hiddenNames = Object.keys(tool.arguments).filter(
    (name) => tool.arguments[name]?.blocksOnly ?? tool.arguments[name]?.onlyWith,
  );
  const settings = argumentsFrom({ arguments: integration.settings }, read, configError);
  const credentialId = credentialIdIn(
    (name) => read(name) ?? (name === 'credential' ? entry['credentialId'] : undefined),
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
      expectMatch(args, problemsOf);
      return callTool(tool, { args, values: [], settings, credentialId, idempotencyKey, context });
    },
  };
}

/** Throws the result of `errorFor` if the author sets an argument without the argument that names its destination. */
function expectTogether(
  { arguments: toolArguments }: DriverTool,
  authorArgs: JsonObject,
  errorFor: (name: string, other: string) => BlockError,
): void {
  for (const [name, { onlyWith }] of Object.entries(toolArguments))
    if (onlyWith !== undefined && Object.hasOwn(authorArgs, name) && !Object.hasOwn(authorArgs, onlyWith))
      throw errorFor(name, onlyWith);
}

function callTool(tool: DriverTool, call: DriverCall): Promise<Json> {
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
