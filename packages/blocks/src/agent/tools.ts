import type { LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { Credential } from '@heddle/engine';
import type { Context } from '../define.ts';
import { isMcpTool, mcpTools } from '../mcp/agent-tools.ts';
import { loadServiceTools } from '../openapi/load-service-tools.ts';
import type { AgentTool, BlocksOptions } from '../options.ts';
import { invalid } from '../invalid.ts';
import { driverOf } from '../drivers/catalog.ts';
import { integrationOf } from '../integrations/catalog.ts';
import { createCodeTool } from './code-tool.ts';
import { compileSchema, withCheckedPatterns } from './json-schema.ts';
import type { OfferedTool, ReadyTool } from './ready-tool.ts';
import { idsOf, MAX_TOOLS, toolRows, withParsedParams } from './tool-rows.ts';
import type { ToolRow } from './tool-rows.ts';
import type { AgentSkills } from './skills.ts';
import { isWorkflowRow, workflowTools } from './workflow-rows.ts';

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
): Promise<Map<string, ReadyTool>> {
  const usedRows = toolRows(context, 'tools').filter(({ row }) => usageOf(context, row) !== 'none');
  const tools = new Map<string, ReadyTool>();
  if (skills.tool) addTool(context, tools, { tool: skills.tool, row: {} });
  const workflowRows = usedRows.filter(({ row }) => isWorkflowRow(row));
  for (const each of usedRows.filter(({ row }) => !isMcpTool(row) && !isWorkflowRow(row)))
    for (const tool of await offeredTools(context, each, options))
      addTool(context, tools, { tool, row: each.row });
  const offeredWorkflows = await workflowTools(context, workflowRows, new Set(tools.keys()));
  for (const [index, tool] of offeredWorkflows.entries())
    addTool(context, tools, { tool, row: workflowRows[index]?.row as JsonObject });
  // MCP tools come last: a server must not take the name of another tool.
  for (const each of usedRows.filter(({ row }) => isMcpTool(row)))
    for (const tool of await mcpTools(
      context,
      options,
      withParsedParams(context, each),
      new Set(tools.keys()),
    ))
      addTool(context, tools, { tool, row: each.row });
  if (tools.size > MAX_TOOLS)
    throw invalid(context, `has more than ${MAX_TOOLS} tools, including those of its MCP servers`);
  return tools;
}

/**
 * Returns how a tool is used. Throws BLOCK_CONFIG_INVALID for an invalid value: a mistake would give the model a tool
 * that it must not have.
 */
export function usageOf(context: Context, row: JsonObject): 'auto' | 'force' | 'none' {
  const value = row['usageControl'] ?? '';
  if (value === 'force' || value === 'none') return value;
  if (value === 'auto' || value === '') return 'auto';
  throw invalid(context, 'has a tool with an invalid "usageControl": it must be auto, force or none');
}

/** Adds a tool after checking its name and schema. Throws BLOCK_CONFIG_INVALID. */
function addTool(
  context: Context,
  tools: Map<string, ReadyTool>,
  { tool, row }: { tool: OfferedTool; row: JsonObject },
): void {
  const { name } = tool.definition;
  if (!NAME_PATTERN.test(name))
    throw invalid(context, `has a tool with the name "${name}": use letters, digits, _ and -`);
  if (tools.has(name)) throw invalid(context, `has two tools with the name "${name}"`);
  tools.set(name, toReadyTool(context, tool, row));
}

/**
 * Returns the tool with the compiled check of its arguments and the settings of its row. Throws BLOCK_CONFIG_INVALID.
 */
export function toReadyTool(context: Context, tool: OfferedTool, row: JsonObject): ReadyTool {
  const { name } = tool.definition;
  const schema = withCheckedPatterns(tool.definition.inputSchema as JsonObject);
  const problemsOf = compileSchema(schema, (why) =>
    invalid(context, `has a tool "${name}" with parameters whose schema ${why}`),
  );
  const forced = row['usageControl'] === 'force';
  const rowRequiresApproval = requiresApproval(context, name, row);
  const needsApproval = tool.approval === undefined ? rowRequiresApproval : tool.approval === 'always';
  const definition = { ...tool.definition, inputSchema: schema as never };
  return { ...tool, definition, problemsOf, forced, requiresApproval: needsApproval };
}

/**
 * Returns whether the row requires approval of each call. Throws BLOCK_CONFIG_INVALID for an invalid value: a mistake
 * would let calls through.
 */
function requiresApproval(context: Context, name: string, row: JsonObject): boolean {
  const value = row['requireApproval'] ?? '';
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false' || value === '') return false;
  throw invalid(context, `has a tool "${name}" with an invalid "requireApproval": it must be true or false`);
}

/**
 * Returns the tools of a row that names neither a workflow nor an MCP server. Throws BLOCK_CONFIG_INVALID,
 * TOOL_UNKNOWN.
 */
export async function offeredTools(
  context: Context,
  toolRow: ToolRow,
  options: BlocksOptions,
): Promise<OfferedTool[]> {
  const { row } = toolRow;
  if (row['type'] === 'custom-tool') return [createCodeTool(context, row)];
  const registered = registeredTool(context, row, options.tools ?? []);
  if (registered) return [registered];
  const services = await loadServiceTools(options);
  const serviceTools =
    services &&
    (await import('./service-rows.ts')).createServiceTools(
      context,
      withParsedParams(context, toolRow),
      services,
    );
  if (serviceTools) return serviceTools;
  const tool = await integrationTool(context, withParsedParams(context, toolRow));
  if (tool) return [tool];
  const ids = idsOf(row);
  const problem = ids.length === 0 ? 'has a tool without a type' : `uses the unknown tool "${ids[0]}"`;
  throw new BlockError(
    'TOOL_UNKNOWN',
    `The block "${context.block.name}" ${problem}. Remove it from the block, register it, or mock the block.`,
    { retryable: false },
  );
}

/** Returns the tool of an integration that a row names. */
async function integrationTool(context: Context, row: JsonObject): Promise<OfferedTool | undefined> {
  const { type } = row;
  if (typeof type !== 'string') return undefined;
  const integration = await integrationOf(type);
  if (integration)
    return (await import('../integrations/run.ts')).offerIntegrationTool(context, row, integration);
  const driver = await driverOf(type);
  return driver && (await import('../drivers/run.ts')).offerDriverTool(context, row, driver);
}

/**
 * Returns how the model chooses among the tools. A forced tool is chosen in the first round only, or the agent would
 * never end.
 */
export function toolChoice(tools: ReadonlyMap<string, ReadyTool>, round: number): LanguageModelV4ToolChoice {
  const forced = [...tools.values()].filter((tool) => tool.forced);
  if (round > 1 || forced.length === 0) return { type: 'auto' };
  const [only] = forced;
  return forced.length === 1 && only
    ? { type: 'tool', toolName: only.definition.name }
    : { type: 'required' };
}

function registeredTool(
  context: Context,
  row: JsonObject,
  registered: readonly AgentTool[],
): OfferedTool | undefined {
  const tool = idsOf(row)
    .map((id) => registered.find((known) => known.id === id))
    .find((found) => found !== undefined);
  if (!tool) return undefined;
  const params = isJsonObject(row['params']) ? row['params'] : {};
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
  const found = typeof id === 'string' && id !== '' ? await services.credential({ id }) : undefined;
  if (found) return found;
  const why = id === undefined ? 'has no credential' : 'names a credential that does not exist';
  const message = `The tool ${why}: set the id of a stored credential in "credential".`;
  throw new BlockError('CREDENTIAL_UNKNOWN', message, { retryable: false });
}
