import { isJsonObject, getOwn } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';

/** The graph of an input, with the properties of the workflow from the objects around it. */
export interface Envelope {
  state: JsonObject;
  /** The object `workflow` of an export; empty if there is none. */
  workflow: JsonObject;
  /** Keys from the input's root to the state. */
  statePath: string[];
}

/**
 * Finds the graph in any accepted form: an export `{version, workflow, state}`, the same in `{data}`, `{state}` alone,
 * a bare state, or a draft graph of the API (a state in `{data}`).
 */
export function openEnvelope(input: Json): Envelope | undefined {
  let content = input;
  const statePath: string[] = [];
  const data = isJsonObject(content) && !isGraph(content) ? getOwn(content, 'data') : undefined;
  if (isJsonObject(data) && (isGraph(data) || isJsonObject(getOwn(data, 'state')))) {
    content = data;
    statePath.push('data');
  }
  if (!isJsonObject(content)) return undefined;
  const exportedWorkflow = getOwn(content, 'workflow');
  const state = getOwn(content, 'state');
  const workflow = isJsonObject(exportedWorkflow) ? exportedWorkflow : {};
  if (isJsonObject(state) && !isGraph(content))
    return { state, workflow, statePath: [...statePath, 'state'] };
  return isGraph(content) ? { state: content, workflow, statePath } : undefined;
}

function isGraph(value: JsonObject): boolean {
  return getOwn(value, 'blocks') !== undefined;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/**
 * Returns the workflow's id, name and description. A workflow without an id gets the UUID in the file name, else the
 * file's base name.
 */
export function identify(
  envelope: Envelope,
  fileName: string | undefined,
): { id: string; name: string; description?: string } {
  const fileBaseName = baseName(fileName ?? '');
  const uuid = UUID.exec(fileBaseName)?.[0];
  const metadata = getOwn(envelope.state, 'metadata');
  const sources = [envelope.workflow, isJsonObject(metadata) ? metadata : {}];
  const firstText = (key: string): string | undefined =>
    sources
      .map((source) => getOwn(source, key))
      .find((value) => typeof value === 'string' && value.trim() !== '') as string | undefined;
  const ownId = getOwn(envelope.workflow, 'id');
  const id = typeof ownId === 'string' && ownId !== '' ? ownId : (uuid ?? (fileBaseName || 'workflow'));
  const name = firstText('name') ?? (fileBaseName.replace(UUID, '').replace(/^[-_. ]+|[-_. ]+$/g, '') || id);
  const description = firstText('description');
  return { id, name, ...(description !== undefined && { description }) };
}

function baseName(fileName: string): string {
  const lastSegment = fileName.split(/[/\\]/).at(-1) ?? '';
  return lastSegment.replace(/\.json$/i, '');
}
