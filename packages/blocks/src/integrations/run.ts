import { isIP } from 'node:net';
import { isJsonObject, own } from '@heddle/core/blocks';
import type { BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import { expectMatch } from '../agent/json-schema.ts';
import type { OfferedTool } from '../agent/ready-tool.ts';
import type { Context } from '../define.ts';
import { invalid } from '../invalid.ts';
import { callService, isRepeatable, permanentError } from '../openapi/call.ts';
import { ServiceTools, withoutArguments } from '../openapi/service-tools.ts';
import type { LoadedTool } from '../openapi/service-tools.ts';
import { ArgumentError, plainText } from '../openapi/wire.ts';
import { argumentsFrom, credentialIdIn, firstNonEmptyString } from './arguments.ts';
import { toolFileOf } from './integration.ts';
import type { Integration, IntegrationTool } from './integration.ts';
import { expectArguments, toolNamesIn, toolOfBlock, selectTool } from './selection.ts';

/** Fields that contain an API key. */
const KEY_FIELDS = ['apiKey', 'botToken', 'accessToken'];

/** The authentication of a call. */
interface Authentication {
  credentialId: string | undefined;
  key: string | undefined;
}

interface SelectedTool {
  integration: Integration;
  definition: IntegrationTool;
  loaded: LoadedTool;
}

const toolsByIntegration = new WeakMap<Integration, ServiceTools>();

/** Returns a tool of an integration by its operation or its id; without names, the first tool. */
function toolOf(integration: Integration, names: readonly string[]): SelectedTool | undefined {
  const tools = toolsByIntegration.get(integration) ?? new ServiceTools([toolFileOf(integration)]);
  toolsByIntegration.set(integration, tools);
  const selected = selectTool(integration, names);
  const loaded = selected && tools.get(selected.id);
  return loaded && { integration, definition: selected.tool, loaded };
}

/** Runs a block of an integration once. Throws a BlockError. */
export async function runIntegration(context: Context, integration: Integration): Promise<BlockResult> {
  const selected = toolOfBlock(context, integration, (names) => toolOf(integration, names));
  const { definition, loaded } = selected;
  const read = (name: string, mode: 'text' | 'native' | 'json'): Json | undefined =>
    context.field(name, mode);
  const args = argumentsFrom(definition, read, (why) => invalid(context, why));
  expectArguments(context, args, { id: loaded.tool.id, definition, problemsOf: loaded.problemsOf });
  await expectAccount(context, integration, (name) => context.field(name));
  const authentication = authenticationOf((name) => context.field(name));
  const output = await context.step(
    loaded.tool.id,
    ({ idempotencyKey }) => callTool(context, selected, { args, authentication, idempotencyKey }),
    { idempotent: isRepeatable(loaded.tool) },
  );
  return { output: isJsonObject(output) ? output : { data: output } };
}

/** Returns the tool that an entry in an agent's field "tools" names; undefined if the integration does not have it. */
export function offerIntegrationTool(
  context: Context,
  entry: JsonObject,
  integration: Integration,
): OfferedTool | undefined {
  const selected = toolOf(integration, toolNamesIn(entry));
  if (!selected) return undefined;
  const { definition, loaded } = selected;
  const { tool, schema } = loaded;
  const params = isJsonObject(entry['params']) ? entry['params'] : {};
  const authorArgs = argumentsFrom(
    definition,
    (name) => own(params, name),
    (why) => invalid(context, why),
  );
  const authentication = authenticationOf(
    (name) => own(params, name) ?? (name === 'credential' ? entry['credentialId'] : undefined),
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
      await expectAccount(context, integration, (name) => own(params, name));
      const args = { ...modelArgs, ...authorArgs };
      expectMatch(args, loaded.problemsOf);
      return callTool(context, selected, { args, authentication, idempotencyKey });
    },
  };
}

/**
 * Throws BLOCK_CONFIG_INVALID if the configured base URL belongs to another account than the field names: that account
 * must not get the credential.
 */
async function expectAccount(
  context: Context,
  { account, service, title }: Integration,
  read: (name: string) => Json | undefined,
): Promise<void> {
  const accountName = account === undefined ? '' : plainText(read(account) ?? null).trim();
  if (accountName === '') return;
  const { address } = await context.services.service(service);
  if (address === undefined) return;
  const { hostname } = new URL(address);
  const host = accountName
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '');
  if (host === hostname || (isIP(hostname) === 0 && host === hostname.split('.', 1)[0])) return;
  throw invalid(
    context,
    `has "${accountName.slice(0, 100)}" in "${account}", but this engine uses another host for ${title}, ${hostname}: clear the field, or set the base URL with --service ${service}=URL`,
  );
}

interface Call {
  args: JsonObject;
  authentication: Authentication;
  idempotencyKey: string;
}

async function callTool(
  context: Context,
  { definition, loaded }: SelectedTool,
  { args, authentication, idempotencyKey }: Call,
): Promise<Json> {
  const { tool, services } = loaded;
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
  return { credentialId: credentialIdIn(read), key: firstNonEmptyString(KEY_FIELDS, read) };
}
