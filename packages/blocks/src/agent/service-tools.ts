import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { callService, isRepeatable } from '../openapi/call.ts';
import type { CodeTool, ServiceTool } from '../openapi/file.ts';
import { withoutArguments } from '../openapi/service-tools.ts';
import type { LoadedTool, Selection, ServiceTools } from '../openapi/service-tools.ts';
import { runCode } from './code-tool.ts';
import { requireMatch } from './json-schema.ts';
import type { OfferedTool } from './callable-tool.ts';
import { idsOf, isEmpty } from './tool-configs.ts';

/** Maximum number of operations in one result of a search. */
const MAX_MATCHES = 10;
/**
 * Maximum number of characters of schemas and descriptions in one search result. The first operation always has its
 * schema.
 */
const MAX_RESULT_CHARS = 20_000;

/**
 * Returns the tools that a configuration (an item of an agent's field `tools`) names. The id of an operation or of code
 * names one tool. The id of a service names two tools: one searches its operations, and one calls them. Undefined if
 * the tool files have no such id.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function createServiceTools(
  context: Context,
  config: JsonObject,
  tools: ServiceTools,
): OfferedTool[] | undefined {
  const params = isJsonObject(config['params']) ? config['params'] : {};
  for (const id of idsOf(config)) {
    const loadedTool = tools.get(id);
    if (loadedTool) return [createOperationTool(context, loadedTool, params)];
    const loadedCodeTool = tools.codeTool(id);
    if (loadedCodeTool) return [createFileCodeTool(context, loadedCodeTool, params)];
    if (tools.hasService(id)) return createSearchTools(context, { service: id, params, tools });
  }
  return undefined;
}

/** Returns the tool of one operation. Arguments that the author has set are hidden from the model. */
function createOperationTool(context: Context, loadedTool: LoadedTool, params: JsonObject): OfferedTool {
  const { tool, schema } = loadedTool;
  const { definition, presetArgs } = splitArguments(tool, schema, params);
  return {
    definition,
    normalizeArguments: (args) => withoutNulls(args, schema),
    isIdempotent: () => isRepeatable(tool),
    run: (args, call) =>
      callOperation(context, loadedTool, { ...call, params, args: { ...args, ...presetArgs } }),
  };
}

/**
 * Returns the arguments without nulls that the schema does not allow: models write null for omitted optional arguments.
 */
function withoutNulls(args: JsonObject, schema: JsonObject): JsonObject {
  const properties = (getOwn(schema, 'properties') ?? {}) as JsonObject;
  const disallowsNull = (name: string): boolean => {
    const property = getOwn(properties, name);
    const type = isJsonObject(property) ? getOwn(property, 'type') : undefined;
    return type !== undefined && ![type].flat().includes('null');
  };
  return Object.fromEntries(
    Object.entries(args).filter(([name, value]) => value !== null || !disallowsNull(name)),
  );
}

/** Returns the tool of code from a tool file. */
function createFileCodeTool(context: Context, tool: CodeTool, params: JsonObject): OfferedTool {
  const schema = tool.arguments as JsonObject;
  const { language, code } = tool;
  const { definition, presetArgs } = splitArguments(tool, schema, params);
  return {
    definition,
    isIdempotent: () => tool.idempotent === true,
    run: (args, { signal }) =>
      runCode(context, { language, code, schema }, { ...args, ...presetArgs }, signal),
  };
}

/** Returns the definition with the arguments that the model chooses, and the arguments that the author has set. */
function splitArguments(
  { id, description }: { id: string; description: string },
  schema: JsonObject,
  params: JsonObject,
): { definition: OfferedTool['definition']; presetArgs: JsonObject } {
  const names = Object.keys((getOwn(schema, 'properties') ?? {}) as JsonObject);
  const presetNames = names.filter((name) => name !== 'credential' && !isEmpty(getOwn(params, name)));
  const inputSchema = withoutArguments(schema, new Set(presetNames)) as never;
  return {
    definition: { type: 'function', name: id, description, inputSchema },
    presetArgs: Object.fromEntries(presetNames.map((name) => [name, params[name] as Json])),
  };
}

interface SearchToolsOptions {
  service: string;
  params: JsonObject;
  tools: ServiceTools;
}

/**
 * Returns two tools, which search and call all operations that the configuration allows, so that the prompt stays
 * short.
 */
function createSearchTools(context: Context, { service, params, tools }: SearchToolsOptions): OfferedTool[] {
  const selection = selectionOf(context, params);
  const allowedOperations = tools.select(service, selection);
  if (allowedOperations.length === 0)
    throw invalidConfigError(
      context,
      `uses the service "${service}" with a selection that matches no operation`,
    );
  const ids = new Set(allowedOperations.map(({ id }) => id));
  const prefix = service.replaceAll(/[^\w-]/g, '_').slice(0, 50);
  const findAllowedTool = (args: JsonObject): LoadedTool | undefined => {
    const id = stringArgument(args, 'operation');
    return ids.has(id) ? tools.get(id) : undefined;
  };
  return [
    {
      definition: {
        type: 'function',
        name: `${prefix}_search`,
        description: `Finds operations of ${service} (${allowedOperations.length} in all) by words. Returns their names, what they do, and the JSON Schema of their arguments, for ${prefix}_call.`,
        inputSchema: SEARCH_SCHEMA as never,
      },
      isIdempotent: () => true,
      // It reads only tool files.
      approval: 'never',
      run: async (args) =>
        searchResult(tools, tools.search(service, stringArgument(args, 'query'), selection)),
    },
    {
      definition: {
        type: 'function',
        name: `${prefix}_call`,
        description: `Calls an operation of ${service}, with arguments as ${prefix}_search describes them.`,
        inputSchema: CALL_SCHEMA as never,
      },
      isIdempotent: (args) => {
        const loadedTool = findAllowedTool(args);
        return loadedTool === undefined || isRepeatable(loadedTool.tool);
      },
      run: async (args, call) => {
        const loadedTool = findAllowedTool(args);
        if (!loadedTool)
          throw new Error(
            `There is no operation "${stringArgument(args, 'operation').slice(0, 100)}" here. Find one with ${prefix}_search.`,
          );
        const requestedArgs = getOwn(args, 'arguments');
        const operationArgs = isJsonObject(requestedArgs)
          ? withoutNulls(requestedArgs, loadedTool.schema)
          : {};
        return callOperation(context, loadedTool, { ...call, params, args: operationArgs });
      },
    },
  ];
}

const SEARCH_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 300, description: 'Words, such as: create issue' },
  },
  required: ['query'],
  additionalProperties: false,
};

const CALL_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    operation: { type: 'string', maxLength: 64, description: 'The name of the operation' },
    arguments: { type: 'object', description: 'Its arguments' },
  },
  required: ['operation'],
  additionalProperties: false,
};

/** Returns the first matches, with their schemas until these exceed the maximum length. */
function searchResult(tools: ServiceTools, matches: readonly ServiceTool[]): Json {
  let remainingChars = MAX_RESULT_CHARS;
  const operations = matches.slice(0, MAX_MATCHES).map(({ id, description }, index): Json => {
    const summary = { name: id, description };
    const schema = tools.get(id)?.schema ?? {};
    remainingChars -= JSON.stringify(schema).length + description.length;
    if (index === 0 || remainingChars > 0) return { ...summary, arguments: schema };
    return { ...summary, note: 'The schema did not fit: search for this name alone.' };
  });
  const omittedCount = matches.length - operations.length;
  return {
    operations,
    ...(omittedCount > 0 && { note: `${omittedCount} more match: use other words to see them.` }),
  };
}

/** Returns the selection in `operations`, `tags` and `readOnly` of a configuration. Throws BLOCK_CONFIG_INVALID. */
function selectionOf(context: Context, params: JsonObject): Selection {
  const [operations, tags] = ['operations', 'tags'].map((name) => {
    const value = getOwn(params, name);
    if (isEmpty(value)) return undefined;
    const list = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
    if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
    throw invalidConfigError(context, `has a tool with an invalid "${name}": it must be a list of strings`);
  });
  const readOnly = getOwn(params, 'readOnly');
  return { operations, tags, readOnly: readOnly === true || readOnly === 'true' };
}

function stringArgument(args: JsonObject, name: string): string {
  const value = getOwn(args, name);
  return typeof value === 'string' ? value : '';
}

async function callOperation(
  context: Context,
  { tool, services, problemsOf }: LoadedTool,
  { args, params, idempotencyKey }: { args: JsonObject; params: JsonObject; idempotencyKey: string },
): Promise<Json> {
  requireMatch(args, problemsOf);
  const credential = getOwn(params, 'credential');
  const { data } = await callService({
    tool,
    args,
    services,
    credentialId: typeof credential === 'string' && credential !== '' ? credential : undefined,
    idempotencyKey,
    context,
  });
  return isBinary(data) ? { type: data['type'] ?? null, size: data['size'] ?? null } : data;
}

/** Returns whether the data is binary: a model gets only its type and size. */
function isBinary(data: Json): data is JsonObject {
  return isJsonObject(data) && typeof data['base64'] === 'string' && typeof data['size'] === 'number';
}
