import { randomUUID } from 'node:crypto';
import { isEngineError } from '@heddle/core';
import type { Json, NewRun, RunStore, ValueStore } from '@heddle/core';
import { isJsonObject, own } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import { fileName, filesIn, mediaType } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { Values } from '../records/values.ts';

/** A file that is not stored yet. */
export interface NewFile {
  name: string;
  /** Media type. */
  type: string | undefined;
  /** The content. */
  base64: string;
}

/** The tenant of a workflow, by its id; undefined: the engine has no tenants. */
export type TenantOf = (this: void, workflowId: string) => Promise<string | undefined> | string | undefined;

/** Stores a file for its owner, a tenant, and returns the record. */
export async function storeFile(
  values: ValueStore,
  { name, type, base64 }: NewFile,
  owner: string | undefined,
): Promise<FileRecord> {
  const id = randomUUID();
  // Id and owner are part of the hashed value: the key cannot be guessed, and the owner cannot be forged.
  const key = await values.put(JSON.stringify({ file: id, owner: owner ?? null, data: base64 }));
  return { id, name: fileName(name), size: Buffer.byteLength(base64, 'base64'), type: mediaType(type), key };
}

/** What a file reader needs. */
export interface FileParts {
  stores: { runs: Pick<RunStore, 'header' | 'record' | 'journal'>; values: ValueStore };
  values: Pick<Values, 'load'>;
  tenant: TenantOf;
}

/** Reads a file by its record. Resolves to the content as Base64; undefined if the record belongs to no file of the tenant. */
export type FileReader = (file: Pick<FileRecord, 'id' | 'key'>) => Promise<string | undefined>;

/** Limits for one reader. Default: none. */
export interface ReadLimits {
  /** Maximum number of keys that are read. */
  files?: number;
  /** After this many bytes, no further key is read; values that are not files of the tenant count too. */
  bytes?: number;
  /** After the abort, no further key is read. */
  signal?: AbortSignal;
}

interface StoredFile {
  id: string;
  base64: string;
}

/**
 * A function that reads files for one run, each key once. A record gives access to a file only for runs of the tenant that
 * owns the file.
 */
export function fileReader(
  parts: FileParts,
  run: NewRun,
  {
    files = Infinity,
    bytes = Infinity,
    signal,
    tenant,
  }: ReadLimits & { tenant?: () => Promise<string | undefined> } = {},
): FileReader {
  const found = new Map<string, Promise<StoredFile | undefined>>();
  let remaining = bytes;
  const read = async (key: string): Promise<StoredFile | undefined> => {
    const text = (await storedText(parts.stores.values, key)) ?? '';
    remaining -= Buffer.byteLength(text);
    return ownFile(parts, run, {
      key,
      text,
      reader: await (tenant ?? (async () => parts.tenant(run.workflowId)))(),
    });
  };
  return async ({ id, key }) => {
    let reading = found.get(key);
    if (!reading) {
      if (signal?.aborted || remaining <= 0 || found.size >= files) return undefined;
      found.set(key, (reading = read(key)));
    }
    const file = await reading;
    return file?.id === id ? file.base64 : undefined;
  };
}

/** The file with this key; undefined unless it belongs to the tenant of the run. */
async function ownFile(
  parts: FileParts,
  run: NewRun,
  { key, text, reader }: { key: string; text: string; reader: string | undefined },
): Promise<StoredFile | undefined> {
  const stored = parseJson(text);
  if (!isJsonObject(stored)) return undefined;
  const [id, owner, base64] = ['file', 'owner', 'data'].map((name) => own(stored, name));
  if (typeof id !== 'string' || typeof base64 !== 'string') return undefined;
  const isOwn =
    owner === undefined ? await isOlderFile(parts, run, { id, key }, reader) : owner === (reader ?? null);
  return isOwn ? { id, base64 } : undefined;
}

/** Maximum length of a chain of reruns and parent runs that is followed. */
const MAX_ORIGINS = 100;

/**
 * True for a file that was stored before files had owners, if it was part of the input of this run. The input of a newer
 * run is no proof, since a caller can write any record into it; then the run that it continues, or its parent, is checked.
 */
async function isOlderFile(
  parts: FileParts,
  run: NewRun,
  file: Pick<FileRecord, 'id' | 'key'>,
  reader: string | undefined,
): Promise<boolean> {
  if (reader === undefined) return true;
  let at: NewRun | undefined = run;
  for (let step = 0; at && step < MAX_ORIGINS; step += 1) {
    if ((await parts.tenant(at.workflowId)) !== reader) return false;
    if (!at.ownsFiles)
      return filesIn(await inputOf(parts, at)).some(({ id, key }) => id === file.id && key === file.key);
    const origin: string | undefined = at.parent?.runId ?? (await reusedBy(parts, at.runId));
    at = origin === undefined ? undefined : await parts.stores.runs.header(origin);
  }
  return false;
}

async function inputOf({ stores, values }: FileParts, { runId }: NewRun): Promise<Json> {
  const record = await stores.runs.record(runId);
  return record ? values.load(record.input) : null;
}

/** The run whose outputs the run reuses. */
async function reusedBy({ stores }: FileParts, runId: string): Promise<string | undefined> {
  const [first] = await stores.runs.journal(runId);
  return first?.type === 'started' ? first.reused?.runId : undefined;
}

async function storedText(values: ValueStore, key: string): Promise<string | undefined> {
  try {
    return await values.get(key);
  } catch (error) {
    // The value was stored, and has been removed since.
    if (isEngineError(error) && error.code === 'VALUE_MISSING') return undefined;
    throw error;
  }
}
