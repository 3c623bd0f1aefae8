import type { Json } from '@heddle/core';
import { isJsonObject, own } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { readEnv } from '../env.ts';
import { EXIT } from '../exit-code.ts';
import { blockNames, stateOf } from '../input/block-names.ts';
import { readWorkflow } from '../input/workflow-file.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { refuse } from '../refuse.ts';
import { dataOf, Refused, Remote, textOf } from '../remote.ts';
import type { RemoteOptions } from '../remote-options.ts';
import { diagnosticLines } from '../render/diagnostics.ts';
import { shellQuote } from '../render/format.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { table } from '../render/table.ts';

export interface DeployOptions extends RemoteOptions {
  /** Else the name that the file has. */
  name?: string;
  json: boolean;
  compat: boolean;
}

/** Keys of a graph that a draft may have. */
const DRAFT_KEYS = ['blocks', 'edges', 'loops', 'parallels', 'variables', 'metadata'];
const CONFLICT = 409;
const MARK_CHARS = 8;

/** Makes the workflow of a file live on a server: a new one, or the next version of the one with its name. */
export async function deploy(io: Io, file: string, options: DeployOptions): Promise<number> {
  const remote = new Remote(options, readEnv());
  const read = await readWorkflow(io, file, options);
  if (!read.plan) return refuse(io, read, options);
  if (!options.json && read.diagnostics.length > 0) {
    const lines = diagnosticLines(read.diagnostics, blockNames(read.text), styleFor(io.stderr));
    io.stderr.write(`${lines.join('\n')}\n`);
  }
  const name = options.name ?? read.plan.workflow.name;
  const workflowId = (await remote.find(name)) ?? (await created(remote, name));
  const path = `/api/v2/workflows/${encodeURIComponent(workflowId)}`;
  await replaceDraft(remote, path, { workflowId, draft: draftOf(read.text) });
  const deployed = dataOf(await remote.call('POST', `${path}/deploy`));
  const version = own(deployed, 'version') ?? null;
  const url = `${remote.url}${path}/execute`;
  const warnings = own(deployed, 'warnings') ?? [];
  if (options.json) writeJson(io, { data: { workflowId, name, version, url, warnings } });
  else report(io, { name, version, url });
  return EXIT.completed;
}

async function created(remote: Remote, name: string): Promise<string> {
  const { workspaceId } = remote;
  return textOf(dataOf(await remote.call('POST', '/api/v2/workflows', { workspaceId, name })), 'id');
}

/**
 * Replaces the draft. Ids of blocks belong to one workflow of a server: where another one has them, these get the mark of
 * their workflow, the same each time.
 */
async function replaceDraft(
  remote: Remote,
  path: string,
  { workflowId, draft }: { workflowId: string; draft: JsonObject },
): Promise<void> {
  try {
    await remote.call('PUT', `${path}/state`, draft);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== CONFLICT) throw error;
    await remote.call('PUT', `${path}/state`, marked(draft, workflowId.slice(0, MARK_CHARS)));
  }
}

/** The graph of a file, without what only an export has. */
function draftOf(text: string): JsonObject {
  const state = stateOf(text);
  const kept = DRAFT_KEYS.flatMap((key): [string, Json][] => {
    const value = isJsonObject(state) ? own(state, key) : undefined;
    return value === undefined || value === null ? [] : [[key, value]];
  });
  return Object.fromEntries(kept);
}

/** The draft with ids of its own. The server derives loops and parallels from the blocks, and ids of edges from their ends. */
function marked(draft: JsonObject, mark: string): JsonObject {
  const { blocks, edges, variables, metadata } = draft;
  const ids = new Set(Object.keys(isJsonObject(blocks) ? blocks : {}));
  const rename = (id: Json | undefined): Json =>
    typeof id === 'string' && ids.has(id) ? `${id}-${mark}` : (id ?? null);
  const block = ([id, value]: [string, Json]): [string, Json] => {
    if (!isJsonObject(value)) return [id, value];
    const data = own(value, 'data');
    const inside = isJsonObject(data) &&
      'parentId' in data && { data: { ...data, parentId: rename(data['parentId']) } };
    const newId = `${id}-${mark}`;
    return [newId, { ...value, id: newId, ...inside }];
  };
  const edge = (value: Json): Json => {
    if (!isJsonObject(value)) return value;
    const { id: _id, source, target, ...rest } = value;
    return { ...rest, source: rename(source), target: rename(target) };
  };
  return {
    blocks: Object.fromEntries(Object.entries(isJsonObject(blocks) ? blocks : {}).map(block)),
    edges: Array.isArray(edges) ? edges.map(edge) : [],
    ...(variables !== undefined && { variables }),
    ...(metadata !== undefined && { metadata }),
  };
}

function report(io: Io, { name, version, url }: { name: string; version: Json; url: string }): void {
  const style = styleFor(io.stdout);
  const lines = [
    `${style.green('✓')} ${style.bold(safeLine(name))} is live, version ${JSON.stringify(version)}`,
    ...table([[`  ${style.dim('address')}`, url]]),
    `  ${style.cyan('→')} heddle execute ${shellQuote(name)} --input '{}'`,
    `  ${style.cyan('→')} curl ${shellQuote(url)} -H "X-API-Key: $HEDDLE_API_KEY" -H 'Content-Type: application/json' -d '{"input": {}}'`,
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}
