import type { LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Credential } from '@heddle/engine';
import type { Context } from '../define.ts';
import { isMcpTool, mcpTools } from '../mcp/agent-tools.ts';
import { loadServiceTools } from '../openapi/load-service-tools.ts';
import type { AgentTool, BlocksOptions } from '../options.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { nativeIntegrationOf } from '../native-integrations/catalog.ts';
import { integrationOf } from '../integrations/catalog.ts';
import { createCodeTool } from './code-tool.ts';
import { compileSchema, withCheckedPatterns } from './json-schema.ts';
import type { OfferedTool, CallableTool } from './callable-tool.ts';
import { idsOf, MAX_TOOLS, toolConfigs, withParsedParams } from './tool-configs.ts';
import type { ToolConfig } from './tool-configs.ts';
import type { AgentSkills } from './skills.ts';
import { isWorkflowToolConfig, workflowTools } from './workflow-tools.ts';

const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;

/** Sources of an agent's tools, besides its own list. */
interface ToolSources {
  options: BlocksOptions;
  skills: Pick<AgentSkills, 'tool'>;
}

/**
 * Returns the tools that the agent may use, by their names for the model. Tools whose `usageControl` is `none` are
 * omitted.
 *
 * Throws BLOCK_CONFIG_INVALID, TOOL_UNKNOWN, CHILD_NOT_FOUND, and the errors of MCP servers.
 */
export async function toolsOf(
  context: Context,
  { options, skills }: ToolSources,
): Promise<Map<string, CallableTool>> {
  const usedConfigs = toolConfigs(context, 'tools').filter(
    ({ config }) => usageControlOf(context, config) !== 'none',
  );
  const tools = new Map<string, CallableTool>();
  if (skills.tool) addTool(context, tools, { tool: skills.tool, config: {} });
  const workflowConfigs = usedConfigs.filter(({ config }) => isWorkflowToolConfig(config));
  for (const usedConfig of usedConfigs.filter(
    ({ config }) => !isMcpTool(config) && !isWorkflowToolConfig(config),
  ))
    for (const tool of await offeredTools(context, usedConfig, options))
      addTool(context, tools, { tool, config: usedConfig.config });
  const offeredWorkflowTools = await workflowTools(context, workflowConfigs, new Set(tools.keys()));
  for (const [index, tool] of offeredWorkflowTools.entries())
    addTool(context, tools, { tool, config: workflowConfigs[index]?.config as JsonObject });
  // MCP tools come last: a server must not take the name of another tool.
  for (const usedConfig of usedConfigs.filter(({ config }) => isMcpTool(config)))
    for (const tool of await mcpTools(
      context,
      options,
      withParsedParams(context, usedConfig),
      new Set(tools.keys()),
    ))
      addTool(context, tools, { tool, config: usedConfig.config });
  if (tools.size > MAX_TOOLS)
    throw invalidConfigError(context, `has more than ${MAX_TOOLS} tools, including those of its MCP servers`);
  return tools;
}

/**
 * Returns how a tool is used. Throws BLOCK_CONFIG_INVALID for an invalid value: a mistake would give the model a tool
 * that it must not have.
 */
export function usageControlOf(context: Context, config: JsonObject): 'auto' | 'force' | 'none' {
  const value = config['usageControl'] ?? '';
  if (value === 'force' || value === 'none') return value;
  if (value === 'auto' || value === '') return 'auto';
  throw invalidConfigError(
    context,
    'has a tool with an invalid "usageControl": it must be auto, force or none',
  );
}

/** Adds a tool after checking its name and schema. Throws BLOCK_CONFIG_INVALID. */
function addTool(
  context: Context,
  tools: Map<string, CallableTool>,
  { tool, config }: { tool: OfferedTool; config: JsonObject },
): void {
  const { name } = tool.definition;
  if (!NAME_PATTERN.test(name))
    throw invalidConfigError(context, `has a tool with the name "${name}": use letters, digits, _ and -`);
  if (tools.has(name)) throw invalidConfigError(context, `has two tools with the name "${name}"`);
  tools.set(name, prepareTool(context, tool, config));
}

/**
 * Returns the tool with the compiled check of its arguments and the settings of its configuration. Throws
 * BLOCK_CONFIG_INVALID.
 */
export function prepareTool(context: Context, tool: OfferedTool, config: JsonObject): CallableTool {
  const { name } = tool.definition;
  const schema = withCheckedPatterns(tool.definition.inputSchema as JsonObject);
  const problemsOf = compileSchema(schema, (problem) =>
    invalidConfigError(context, `has a tool "${name}" with parameters whose schema ${problem}`),
  );
  const forced = config['usageControl'] === 'force';
  const configRequiresApproval = requiresApproval(context, name, config);
  const needsApproval = tool.approval === undefined ? configRequiresApproval : tool.approval === 'always';
  const definition = { ...tool.definition, inputSchema: schema as never };
  return { ...tool, definition, problemsOf, forced, requiresApproval: needsApproval };
}

/**
 * Returns whether the configuration requires approval of each call. Throws BLOCK_CONFIG_INVALID for an invalid value: a
 * mistake would let calls through.
 */
function requiresApproval(context: Context, name: string, config: JsonObject): boolean {
  const value = config['requireApproval'] ?? '';
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false' || value === '') return false;
  throw invalidConfigError(
    context,
    `has a tool "${name}" with an invalid "requireApproval": it must be true or false`,
  );
}

/**
 * Returns the tools of a configuration that names neither a workflow nor an MCP server. Throws BLOCK_CONFIG_INVALID,
 * TOOL_UNKNOWN.
 */
export async function offeredTools(
  context: Context,
  toolConfig: ToolConfig,
  options: BlocksOptions,
): Promise<OfferedTool[]> {
  const { config } = toolConfig;
  if (config['type'] === 'custom-tool') return [createCodeTool(context, config)];
  const offeredTool = registeredTool(context, config, options.tools ?? []);
  if (offeredTool) return [offeredTool];
  const services = await loadServiceTools(options);
  const serviceTools =
    services &&
    (await import('./service-tools.ts')).createServiceTools(
      context,
      withParsedParams(context, toolConfig),
      services,
    );
  if (serviceTools) return serviceTools;
  const tool = await integrationTool(context, withParsedParams(context, toolConfig));
  if (tool) return [tool];
  const ids = idsOf(config);
  const problem = ids.length === 0 ? 'has a tool without a type' : `uses the unknown tool "${ids[0]}"`;
  throw new BlockError(
    'TOOL_UNKNOWN',
    `The block "${context.block.name}" ${problem}. Remove it from the block, register it, or mock the block.`,
    { retryable: false },
  );
}

/** Returns the tool of an integration that a configuration names. */
async function integrationTool(context: Context, config: JsonObject): Promise<OfferedTool | undefined> {
  const { type } = config;
  if (typeof type !== 'string') return undefined;
  const integration = await integrationOf(type);
  if (integration)
    return (await import('../integrations/run.ts')).createIntegrationTool(context, config, integration);
  const nativeIntegration = await nativeIntegrationOf(type);
  return (
    nativeIntegration &&
    (await import('../native-integrations/run.ts')).createNativeTool(context, config, nativeIntegration)
  );
}

/**
 * Returns how the model chooses among the tools. A forced tool is chosen in the first round only, or the agent would
 * never end.
 */
export function toolChoice(
  tools: ReadonlyMap<string, CallableTool>,
  round: number,
): LanguageModelV4ToolChoice {
  const forcedTools = [...tools.values()].filter((tool) => tool.forced);
  if (round > 1 || forcedTools.length === 0) return { type: 'auto' };
  const [forcedTool] = forcedTools;
  return forcedTools.length === 1 && forcedTool
    ? { type: 'tool', toolName: forcedTool.definition.name }
    : { type: 'required' };
}

function registeredTool(
  context: Context,
  config: JsonObject,
  registeredTools: readonly AgentTool[],
): OfferedTool | undefined {
  const tool = idsOf(config)
    .map((id) => registeredTools.find((candidate) => candidate.id === id))
    .find((candidate) => candidate !== undefined);
  if (!tool) return undefined;
  const params = isJsonObject(config['params']) ? config['params'] : {};
  return {
    definition: {
      type: 'function',
      name: tool.name ?? tool.id.replaceAll(/[^\w-]/g, '_'),
      description: tool.description,
      inputSchema: tool.parameters as never,
    },
    isIdempotent: () => tool.idempotent === true,
    ...(tool.requireApproval === true && { approval: 'always' }),
    run: (args, { idempotencyKey, signal }) =>
      tool.run(args, {
        ...{ idempotencyKey, signal, params },
        credential: () => credentialOf(context, params['credential']),
      }),
  };
}

/** Returns the stored credential with this id. */
async function credentialOf({ services }: Context, id: Json | undefined): Promise<Credential> {
  const credential = typeof id === 'string' && id !== '' ? await services.credential({ id }) : undefined;
  if (credential) return credential;
  const problem = id === undefined ? 'has no credential' : 'names a credential that does not exist';
  const message = `The tool ${problem}: set the id of a stored credential in "credential".`;
  throw new BlockError('CREDENTIAL_UNKNOWN', message, { retryable: false });
}
