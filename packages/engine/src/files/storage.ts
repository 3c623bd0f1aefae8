import { randomUUID } from 'node:crypto';
import { isEngineError } from '@heddle/core';
import type { Json, NewRun, RunStore, ValueStore } from '@heddle/core';
import { isJsonObject, own } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import { fileName, filesIn, mediaType } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { Values } from '../records/values.ts';

/** A file as it came. */
export interface NewFile {
  name: string;
  /** Media type. */
  type: string | undefined;
  /** Its content. */
  base64: string;
}

/** The tenant of a workflow, by its id; undefined: the engine has no tenants. */
export type TenantOf = (this: void, workflowId: string) => Promise<string | undefined> | string | undefined;

/** Stores a file for the tenant that owns it and returns its record. */
export async function storeFile(
  values: ValueStore,
  { name, type, base64 }: NewFile,
  owner: string | undefined,
): Promise<FileRecord> {
  const id = randomUUID();
  // Id and owner are part of what is hashed: nobody can guess the key, nor make one that says another owner of this content.
  const key = await values.put(JSON.stringify({ file: id, owner: owner ?? null, data: base64 }));
  return { id, name: fileName(name), size: Buffer.byteLength(base64, 'base64'), type: mediaType(type), key };
}

/** What is needed to read files. */
export interface FileParts {
  stores: { runs: Pick<RunStore, 'header' | 'record' | 'journal'>; values: ValueStore };
  values: Pick<Values, 'load'>;
  tenant: TenantOf;
}

/** Reads a file by its record: resolves to its content as Base64, or to undefined where the record is only data. */
export type FileReader = (file: Pick<FileRecord, 'id' | 'key'>) => Promise<string | undefined>;

/** Bounds of what one reader reads; absent: none. */
export interface ReadLimits {
  /** Keys that are read. */
  files?: number;
  /** Bytes after which no other key is read, whether or not they belonged to a file of the run. */
  bytes?: number;
  /** Once aborted, nothing more is read. */
  signal?: AbortSignal;
}

interface Kept {
  id: string;
  base64: string;
}

/**
 * Returns a function that reads files for one run, each key once: a record opens a file only for runs of the tenant that
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
  const found = new Map<string, Promise<Kept | undefined>>();
  let left = bytes;
  const read = async (key: string): Promise<Kept | undefined> => {
    const text = (await storedText(parts.stores.values, key)) ?? '';
    left -= Buffer.byteLength(text);
    return ownFile(parts, run, {
      key,
      text,
      reader: await (tenant ?? (async () => parts.tenant(run.workflowId)))(),
    });
  };
  return async ({ id, key }) => {
    let kept = found.get(key);
    if (!kept) {
      if (signal?.aborted || left <= 0 || found.size >= files) return undefined;
      found.set(key, (kept = read(key)));
    }
    const file = await kept;
    return file?.id === id ? file.base64 : undefined;
  };
}

/** The file that is stored under a key, where it belongs to the run. */
async function ownFile(
  parts: FileParts,
  run: NewRun,
  { key, text, reader }: { key: string; text: string; reader: string | undefined },
): Promise<Kept | undefined> {
  const stored = parseJson(text);
  if (!isJsonObject(stored)) return undefined;
  const [id, owner, base64] = ['file', 'owner', 'data'].map((name) => own(stored, name));
  if (typeof id !== 'string' || typeof base64 !== 'string') return undefined;
  const isOwn =
    owner === undefined ? await isOlderFile(parts, run, { id, key }, reader) : owner === (reader ?? null);
  return isOwn ? { id, base64 } : undefined;
}

/** A rerun of a rerun, or a child of a child, is followed back this far. */
const MOST_ORIGINS = 100;

/**
 * True for a file that was stored before files had owners, where this run got it with its input. A run that began since
 * then proves nothing by its input, which a caller can write; the run that it continues or was called by may.
 */
async function isOlderFile(
  parts: FileParts,
  run: NewRun,
  file: Pick<FileRecord, 'id' | 'key'>,
  reader: string | undefined,
): Promise<boolean> {
  if (reader === undefined) return true;
  let at: NewRun | undefined = run;
  for (let step = 0; at && step < MOST_ORIGINS; step += 1) {
    if ((await parts.tenant(at.workflowId)) !== reader) return false;
    if (!at.ownsFiles)
      return filesIn(await inputOf(parts, at)).some(({ id, key }) => id === file.id && key === file.key);
    const before: string | undefined = at.parent?.runId ?? (await reusedBy(parts, at.runId));
    at = before === undefined ? undefined : await parts.stores.runs.header(before);
  }
  return false;
}

async function inputOf({ stores, values }: FileParts, { runId }: NewRun): Promise<Json> {
  const record = await stores.runs.record(runId);
  return record ? values.load(record.input) : null;
}

/** The run whose outputs the run took over. */
async function reusedBy({ stores }: FileParts, runId: string): Promise<string | undefined> {
  const [first] = await stores.runs.journal(runId);
  return first?.type === 'started' ? first.reused?.runId : undefined;
}

async function storedText(values: ValueStore, key: string): Promise<string | undefined> {
  try {
    return await values.get(key);
  } catch (error) {
    // It was there, and was removed since.
    if (isEngineError(error) && error.code === 'VALUE_MISSING') return undefined;
    throw error;
  }
}
