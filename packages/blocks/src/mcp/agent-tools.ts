import type { Tool } from '@modelcontextprotocol/client';
import { isJsonObject } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { compileThirdPartySchema } from '../agent/json-schema.ts';
import { presetOf } from '../agent/preset.ts';
import type { OfferedTool } from '../agent/callable-tool.ts';
import { isIdempotent, findTool } from './tools.ts';
import { sanitizeDescription, uniqueName } from './names.ts';
import { resultForModel } from './result.ts';
import type { BlocksOptions } from '../options.ts';
import { openSession } from './session.ts';
import type { McpSession } from './session.ts';

/** The `type` of an item of an agent's field "tools" that names one tool of a server. */
const TOOL_TYPE = 'mcp';
/** The `type` of entries that name all tools of a server. */
const SERVER_TYPES = ['mcp-server', 'mcp-server-advanced'];

/** Returns whether an item of an agent's field "tools" names an MCP server. */
export function isMcpTool({ type }: JsonObject): boolean {
  return type === TOOL_TYPE || SERVER_TYPES.includes(type as string);
}

/**
 * Returns the tools that a configuration names, under names that are not in `usedNames`. For a whole server, omits
 * tools whose schema cannot be used.
 *
 * Throws BLOCK_CONFIG_INVALID, MCP_SERVER_UNKNOWN, MCP_TOOL_UNKNOWN, MCP_FAILED.
 */
export async function mcpTools(
  context: Context,
  options: BlocksOptions,
  config: JsonObject,
  usedNames: ReadonlySet<string>,
): Promise<OfferedTool[]> {
  const params = isJsonObject(config['params']) ? config['params'] : {};
  const { serverId, toolName, credential } = params;
  if (typeof serverId !== 'string' || serverId === '')
    throw invalidConfigError(context, 'has an MCP tool without a "serverId"');
  const session = await openSession(context, options, {
    name: serverId,
    credential: typeof credential === 'string' ? credential : undefined,
  });
  const serverTools = await session.listTools();
  const names = new Set(usedNames);
  const toOfferedTool = (tool: Tool): OfferedTool => {
    const name = uniqueName(serverId, tool.name, names);
    names.add(name);
    return createAgentTool(session, tool, name);
  };
  if (config['type'] !== TOOL_TYPE) return serverTools.filter(isUsable).map(toOfferedTool);
  if (typeof toolName !== 'string') throw invalidConfigError(context, 'has an MCP tool without a "toolName"');
  return [withPreset(toOfferedTool(findTool(serverTools, serverId, toolName)), params)];
}

/** Keys of the `params` of a configuration that are not arguments of its tool. */
const NON_ARGUMENT_KEYS: ReadonlySet<string> = new Set([
  'serverId',
  'serverName',
  'serverUrl',
  'toolName',
  'credential',
]);

/** Returns the tool with the arguments that the author has set. The model neither sees nor changes them. */
function withPreset(tool: OfferedTool, params: JsonObject): OfferedTool {
  const authorArgs = Object.fromEntries(
    Object.entries(params).filter(([name]) => !NON_ARGUMENT_KEYS.has(name)),
  );
  const { values, schema } = presetOf(tool.definition.inputSchema as JsonObject, authorArgs);
  return {
    ...tool,
    definition: { ...tool.definition, inputSchema: schema as never },
    run: (args, call) => tool.run({ ...args, ...values }, call),
  };
}

function createAgentTool(session: McpSession, tool: Tool, name: string): OfferedTool {
  return {
    definition: {
      type: 'function',
      name,
      description: sanitizeDescription(tool.description ?? tool.title),
      inputSchema: tool.inputSchema as never,
    },
    isIdempotent: () => isIdempotent(session, tool),
    ...(session.requiresApproval && { approval: 'always' }),
    run: async (args, { toolCallId }) => resultForModel(tool, await session.call(tool, args, toolCallId)),
  };
}

function isUsable(tool: Tool): boolean {
  try {
    compileThirdPartySchema(tool.inputSchema as JsonObject, (problem) => new Error(problem));
    return true;
  } catch {
    return false;
  }
}
