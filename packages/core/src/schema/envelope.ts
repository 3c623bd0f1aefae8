import { isJsonObject, own } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';

/** The graph of an input, with the properties of the workflow from the objects around it. */
export interface Envelope {
  state: JsonObject;
  /** The `workflow` entry of an export, if any. */
  about: JsonObject;
  /** Keys from the input's root to the state. */
  prefix: string[];
}

/**
 * Finds the graph in all accepted forms: an export `{version, workflow, state}`, the same in `{data}`, `{state}` alone,
 * a bare state, or a draft graph of the API.
 */
export function openEnvelope(input: Json): Envelope | undefined {
  let inner = input;
  const prefix: string[] = [];
  const wrapped = isJsonObject(inner) && !isGraph(inner) ? own(inner, 'data') : undefined;
  if (isJsonObject(wrapped) && (isGraph(wrapped) || isJsonObject(own(wrapped, 'state')))) {
    inner = wrapped;
    prefix.push('data');
  }
  if (!isJsonObject(inner)) return undefined;
  const about = own(inner, 'workflow');
  const state = own(inner, 'state');
  const known = isJsonObject(about) ? about : {};
  if (isJsonObject(state) && !isGraph(inner)) return { state, about: known, prefix: [...prefix, 'state'] };
  return isGraph(inner) ? { state: inner, about: known, prefix } : undefined;
}

function isGraph(value: JsonObject): boolean {
  return own(value, 'blocks') !== undefined;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Returns id and name of a workflow: its own, else from the file name (the UUID in it, else its base name). */
export function identify(
  envelope: Envelope,
  fileName: string | undefined,
): { id: string; name: string; description?: string } {
  const base = baseName(fileName ?? '');
  const uuid = UUID.exec(base)?.[0];
  const metadata = own(envelope.state, 'metadata');
  const sources = [envelope.about, isJsonObject(metadata) ? metadata : {}];
  const text = (key: string): string | undefined =>
    sources
      .map((source) => own(source, key))
      .find((value) => typeof value === 'string' && value.trim() !== '') as string | undefined;
  const aboutId = own(envelope.about, 'id');
  const id = typeof aboutId === 'string' && aboutId !== '' ? aboutId : (uuid ?? (base || 'workflow'));
  const name = text('name') ?? (base.replace(UUID, '').replace(/^[-_. ]+|[-_. ]+$/g, '') || id);
  const description = text('description');
  return { id, name, ...(description !== undefined && { description }) };
}

function baseName(fileName: string): string {
  const last = fileName.split(/[/\\]/).at(-1) ?? '';
  return last.replace(/\.json$/i, '');
}
