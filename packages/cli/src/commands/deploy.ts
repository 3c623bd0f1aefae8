import type { Json } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { readEnv } from '../env.ts';
import { EXIT } from '../exit-code.ts';
import { blockNameLookup, parseGraph } from '../input/block-names.ts';
import type { BindingOptions } from '../input/bindings.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { dataOf, RequestError, ApiClient, stringAt } from '../api-client.ts';
import type { RemoteOptions } from '../run-options.ts';
import { diagnosticLines, reportInvalid } from '../render/diagnostics.ts';
import { shellQuote } from '../render/format.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { tableLines } from '../render/table.ts';

export interface DeployOptions extends RemoteOptions, BindingOptions {
  /** Default: the name in the file. */
  name?: string;
  json: boolean;
  compat: boolean;
}

/** Keys of an exported graph that a draft accepts. */
const DRAFT_KEYS = ['blocks', 'edges', 'loops', 'parallels', 'variables', 'metadata'];
const CONFLICT = 409;
const SUFFIX_CHARS = 8;

/** Deploys a file to a server, as a new workflow or as a new version of the workflow with its name. */
export async function deploy(io: Io, file: string, options: DeployOptions): Promise<number> {
  const client = new ApiClient(options, readEnv());
  const { triggerTypes: triggers } = await import('@heddle/blocks/triggers');
  const workflowFile = await readWorkflow(io, file, { ...options, triggers });
  const { plan, diagnostics } = workflowFile;
  if (!plan) return reportInvalid(io, workflowFile, options);
  if (!options.json && diagnostics.length > 0) {
    const lines = diagnosticLines(diagnostics, blockNameLookup(workflowFile.text), styleFor(io.stderr));
    io.stderr.write(`${lines.join('\n')}\n`);
  }
  const name = options.name ?? plan.workflow.name;
  const workflowId = (await client.findWorkflowId(name)) ?? (await createWorkflow(client, name));
  const path = `/api/v2/workflows/${encodeURIComponent(workflowId)}`;
  await replaceDraft(client, path, { workflowId, draft: draftOf(workflowFile.boundText) });
  const warningMessages = new Set(diagnostics.map(({ message }) => message));
  const deployment = await deployDraft(client, path, warningMessages);
  const version = getOwn(deployment, 'version') ?? null;
  const url = `${client.url}${path}/execute`;
  const warnings = getOwn(deployment, 'warnings') ?? [];
  if (options.json) writeJson(io, { data: { workflowId, name, version, url, warnings } });
  else {
    warn(io, warnings, warningMessages);
    report(io, { name, version, url });
  }
  return EXIT.completed;
}

/** Prints the warnings of the server that are not in `printedMessages`. */
function warn(io: Io, warnings: Json, printedMessages: ReadonlySet<string>): void {
  const style = styleFor(io.stderr);
  for (const warning of Array.isArray(warnings) ? warnings : [])
    if (typeof warning === 'string' && !printedMessages.has(warning))
      io.stderr.write(`${style.yellow('!')} ${sanitizeLine(warning)}\n`);
}

async function createWorkflow(client: ApiClient, name: string): Promise<string> {
  const { workspaceId } = client;
  return stringAt(dataOf(await client.call('POST', '/api/v2/workflows', { workspaceId, name })), 'id');
}

/**
 * Replaces the draft. Block ids are unique on a server. If another workflow has one of these ids, each id gets a suffix
 * from the id of this workflow, so that a later deployment uses the same ids.
 */
async function replaceDraft(
  client: ApiClient,
  path: string,
  { workflowId, draft }: { workflowId: string; draft: JsonObject },
): Promise<void> {
  try {
    await client.call('PUT', `${path}/state`, draft);
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== CONFLICT) throw error;
    await client.call('PUT', `${path}/state`, withSuffix(draft, workflowId.slice(0, SUFFIX_CHARS)));
  }
}

/**
 * Deploys the draft. `warningMessages`: problems that --compat turns into warnings. If a server without --compat
 * refuses the draft because of one of them, the error's hint names the option.
 */
async function deployDraft(
  client: ApiClient,
  path: string,
  warningMessages: ReadonlySet<string>,
): Promise<JsonObject> {
  try {
    return dataOf(await client.call('POST', `${path}/deploy`));
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const { status, message, details } = error;
    if (!errorMessages(details).some((text) => warningMessages.has(text))) throw error;
    const hint =
      'The server runs without --compat, so these problems are errors there. Correct them, or restart it with heddle serve --compat.';
    throw new RequestError(status, { message, hint, details });
  }
}

/** Returns the messages of the diagnostics of severity error in the details of an error response. */
function errorMessages(details: Json | undefined): string[] {
  const diagnostics = isJsonObject(details) ? getOwn(details, 'diagnostics') : undefined;
  if (!Array.isArray(diagnostics)) return [];
  return diagnostics
    .filter(isJsonObject)
    .filter((diagnostic) => getOwn(diagnostic, 'severity') === 'error')
    .map((diagnostic) => stringAt(diagnostic, 'message'));
}

/** Returns the graph of a file, without the fields of the export format. */
function draftOf(text: string): JsonObject {
  const graph = parseGraph(text);
  const entries = DRAFT_KEYS.flatMap((key): [string, Json][] => {
    const value = isJsonObject(graph) ? getOwn(graph, key) : undefined;
    return value === undefined || value === null ? [] : [[key, value]];
  });
  return Object.fromEntries(entries);
}

/** Adds a suffix to all block ids. Omits loops, parallels and edge ids: the server derives them. */
function withSuffix(draft: JsonObject, suffix: string): JsonObject {
  const { blocks, edges, variables, metadata } = draft;
  const ids = new Set(Object.keys(isJsonObject(blocks) ? blocks : {}));
  const renameId = (id: Json | undefined): Json =>
    typeof id === 'string' && ids.has(id) ? `${id}-${suffix}` : (id ?? null);
  const renameBlock = ([id, value]: [string, Json]): [string, Json] => {
    if (!isJsonObject(value)) return [id, value];
    const data = getOwn(value, 'data');
    const newData = isJsonObject(data) &&
      'parentId' in data && { data: { ...data, parentId: renameId(data['parentId']) } };
    const newId = `${id}-${suffix}`;
    return [newId, { ...value, id: newId, ...newData }];
  };
  const renameEdge = (value: Json): Json => {
    if (!isJsonObject(value)) return value;
    const { id: _id, source, target, ...otherFields } = value;
    return { ...otherFields, source: renameId(source), target: renameId(target) };
  };
  return {
    blocks: Object.fromEntries(Object.entries(isJsonObject(blocks) ? blocks : {}).map(renameBlock)),
    edges: Array.isArray(edges) ? edges.map(renameEdge) : [],
    ...(variables !== undefined && { variables }),
    ...(metadata !== undefined && { metadata }),
  };
}

function report(io: Io, { name, version, url }: { name: string; version: Json; url: string }): void {
  const style = styleFor(io.stdout);
  const lines = [
    `${style.green('✓')} ${style.bold(sanitizeLine(name))} is deployed, version ${JSON.stringify(version)}`,
    ...tableLines([[`  ${style.dim('url')}`, url]]),
    `  ${style.cyan('→')} heddle execute ${shellQuote(name)} --input '{}'`,
    `  ${style.cyan('→')} curl ${shellQuote(url)} -H "X-API-Key: $HEDDLE_API_KEY" -H 'Content-Type: application/json' -d '{"input": {}}'`,
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}
