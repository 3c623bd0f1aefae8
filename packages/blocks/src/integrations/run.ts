import { isIP } from 'node:net';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { requireMatch } from '../agent/json-schema.ts';
import type { OfferedTool } from '../agent/callable-tool.ts';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { callService, isRepeatable, permanentError } from '../openapi/call.ts';
import { ServiceTools, withoutArguments } from '../openapi/service-tools.ts';
import type { LoadedTool } from '../openapi/service-tools.ts';
import { ArgumentError, plainText } from '../openapi/wire.ts';
import { readArguments, credentialIdIn, firstNonEmptyString } from './arguments.ts';
import { toolFileOf } from './integration.ts';
import type { Integration, IntegrationTool } from './integration.ts';
import { requireArguments, toolNamesIn, toolOfBlock, selectTool } from './selection.ts';

/** Fields that contain an API key. */
const API_KEY_FIELDS = ['apiKey', 'botToken', 'accessToken'];

/** The authentication of a call. */
interface Authentication {
  credentialId: string | undefined;
  key: string | undefined;
}

interface SelectedTool {
  integration: Integration;
  definition: IntegrationTool;
  loadedTool: LoadedTool;
}

const toolsByIntegration = new WeakMap<Integration, ServiceTools>();

/** Returns a tool of an integration by its operation or its id; without names, the first tool. */
function toolOf(integration: Integration, names: readonly string[]): SelectedTool | undefined {
  const tools = toolsByIntegration.get(integration) ?? new ServiceTools([toolFileOf(integration)]);
  toolsByIntegration.set(integration, tools);
  const selectedTool = selectTool(integration, names);
  const loadedTool = selectedTool && tools.get(selectedTool.id);
  return loadedTool && { integration, definition: selectedTool.tool, loadedTool };
}

/** Runs a block of an integration once. Throws a BlockError. */
export async function runIntegration(context: Context, integration: Integration): Promise<BlockResult> {
  const selectedTool = toolOfBlock(context, integration, (names) => toolOf(integration, names));
  const { definition, loadedTool } = selectedTool;
  const read = (name: string, mode: 'text' | 'native' | 'json'): Json | undefined =>
    context.field(name, mode);
  const args = readArguments(definition, read, (problem) => invalidConfigError(context, problem));
  requireArguments(context, args, { id: loadedTool.tool.id, definition, problemsOf: loadedTool.problemsOf });
  await requireAccount(context, integration, (name) => context.field(name));
  const authentication = authenticationOf((name) => context.field(name));
  const output = await context.step(
    loadedTool.tool.id,
    ({ idempotencyKey }) => callTool(context, selectedTool, { args, authentication, idempotencyKey }),
    { idempotent: isRepeatable(loadedTool.tool) },
  );
  return { output: isJsonObject(output) ? output : { data: output } };
}

/** Returns the tool that an item of an agent's field "tools" names; undefined if the integration does not have it. */
export function createIntegrationTool(
  context: Context,
  config: JsonObject,
  integration: Integration,
): OfferedTool | undefined {
  const selectedTool = toolOf(integration, toolNamesIn(config));
  if (!selectedTool) return undefined;
  const { definition, loadedTool } = selectedTool;
  const { tool, schema } = loadedTool;
  const params = isJsonObject(config['params']) ? config['params'] : {};
  const authorArgs = readArguments(
    definition,
    (name) => getOwn(params, name),
    (problem) => invalidConfigError(context, problem),
  );
  const authentication = authenticationOf(
    (name) => getOwn(params, name) ?? (name === 'credential' ? config['credentialId'] : undefined),
  );
  return {
    definition: {
      type: 'function',
      name: tool.id,
      description: tool.description,
      inputSchema: withoutArguments(schema, new Set(Object.keys(authorArgs))) as never,
    },
    isIdempotent: () => isRepeatable(tool),
    run: async (modelArgs, { idempotencyKey }) => {
      await requireAccount(context, integration, (name) => getOwn(params, name));
      const args = { ...modelArgs, ...authorArgs };
      requireMatch(args, loadedTool.problemsOf);
      return callTool(context, selectedTool, { args, authentication, idempotencyKey });
    },
  };
}

/**
 * Throws BLOCK_CONFIG_INVALID if the configured base URL belongs to another account than the field names: that account
 * must not get the credential.
 */
async function requireAccount(
  context: Context,
  { accountField, service, title }: Integration,
  read: (name: string) => Json | undefined,
): Promise<void> {
  const accountName = accountField === undefined ? '' : plainText(read(accountField) ?? null).trim();
  if (accountName === '') return;
  const { baseUrl } = await context.services.service(service);
  if (baseUrl === undefined) return;
  const { hostname } = new URL(baseUrl);
  const host = accountName
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '');
  if (host === hostname || (isIP(hostname) === 0 && host === hostname.split('.', 1)[0])) return;
  throw invalidConfigError(
    context,
    `has "${accountName.slice(0, 100)}" in "${accountField}", but this engine uses another host for ${title}, ${hostname}: clear the field, or set the base URL with --service ${service}=URL`,
  );
}

interface Call {
  args: JsonObject;
  authentication: Authentication;
  idempotencyKey: string;
}

async function callTool(
  context: Context,
  { definition, loadedTool }: SelectedTool,
  { args, authentication, idempotencyKey }: Call,
): Promise<Json> {
  const { tool, services } = loadedTool;
  const requestArgs = await prepareArguments(context, { tool: definition, id: tool.id }, args);
  const response = await callService({
    tool,
    services,
    context,
    idempotencyKey,
    args: requestArgs,
    ...authentication,
  });
  return response.data;
}

async function prepareArguments(
  { services }: Context,
  { tool, id }: { tool: IntegrationTool; id: string },
  args: JsonObject,
): Promise<JsonObject> {
  if (!tool.prepare) return args;
  try {
    return await tool.prepare(args, { readFileAsBase64: (record) => services.readFile(record) });
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw permanentError('TOOL_ARGUMENTS_INVALID', `The tool "${id}" cannot be called: ${error.message}.`);
  }
}

function authenticationOf(read: (name: string) => Json | undefined): Authentication {
  return { credentialId: credentialIdIn(read), key: firstNonEmptyString(API_KEY_FIELDS, read) };
}
