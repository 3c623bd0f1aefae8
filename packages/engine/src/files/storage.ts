import { randomUUID } from 'node:crypto';
import { EngineError, isEngineError } from '@heddle/core';
import type { Json, RunHeader, RunStore, ValueStore } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import { sanitizeFileName, filesIn, MAX_FILE_BYTES, toMediaType } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { Values } from '../records/values.ts';
import { partContent, parsePartList, storeParts } from './large-files.ts';

/** A file that is not stored yet. */
export interface NewFile {
  name: string;
  /** Media type. */
  type: string | undefined;
  /** The content. */
  base64: string;
}

/** Returns the tenant of a workflow, by its id. Undefined: the engine has no tenants. */
export type TenantLookup = (
  this: void,
  workflowId: string,
) => Promise<string | undefined> | string | undefined;

/** Stores a file for its owner, a tenant, and returns the record. */
export async function storeFile(
  values: Pick<ValueStore, 'put'>,
  { name, type, base64 }: NewFile,
  owner: string | undefined,
): Promise<FileRecord> {
  const id = randomUUID();
  // Id and owner are part of the hashed value: the key cannot be guessed, and the owner cannot be forged.
  const key = await values.put(JSON.stringify({ file: id, owner: owner ?? null, data: base64 }));
  return {
    id,
    name: sanitizeFileName(name),
    size: Buffer.byteLength(base64, 'base64'),
    type: toMediaType(type),
    key,
  };
}

/** A file that is stored as it arrives. */
export interface FileStream {
  name: string;
  /** Media type. */
  type: string | undefined;
  chunks: AsyncIterable<Uint8Array>;
}

/**
 * Stores a file of any size for its owner, and returns the record. Only one part of it is in memory at a time. Throws
 * the errors of `chunks`; then nothing is stored.
 */
export async function storeFileStream(
  values: Pick<ValueStore, 'put' | 'prune'>,
  { name, type, chunks }: FileStream,
  owner: string | undefined,
): Promise<FileRecord> {
  const id = randomUUID();
  const storedContent = await storeParts(values, { id, owner }, chunks);
  if ('base64' in storedContent) return storeFile(values, { name, type, ...storedContent }, owner);
  const { bytes, parts } = storedContent;
  const key = await values.put(JSON.stringify({ file: id, owner: owner ?? null, bytes, parts }));
  return { id, name: sanitizeFileName(name), size: bytes, type: toMediaType(type), key, parts };
}

/** The sources of a file reader. */
export interface FileSources {
  stores: { runs: Pick<RunStore, 'header' | 'record' | 'journal'>; values: ValueStore };
  values: Pick<Values, 'load'>;
  tenant: TenantLookup;
}

/**
 * Reads a file by its record. Resolves to the content as Base64; undefined if the record belongs to no file of the
 * tenant.
 */
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
  owner: Json;
  bytes: number;
  /** The content of a file that is stored as a whole. */
  base64?: string;
  /** Keys of the parts of any other file. */
  parts: string[];
}

/** The content of a file that is being read. */
export interface FileContent {
  bytes: number;
  /** Throws VALUE_MISSING if a part has been removed in the meantime. */
  chunks(): AsyncGenerator<Uint8Array, void>;
}

interface ReaderOptions {
  tenant?: (() => Promise<string | undefined>) | undefined;
  /** Returns the error for a file of more than `maxBytes`. Default: the reader returns no content for such a file. */
  tooLargeError?: (bytes: number, maxBytes: number) => Error;
}

/**
 * Returns a function that reads files for one run, each key once. A record gives access to a file only for runs of the
 * tenant that owns the file.
 */
export function fileReader(
  sources: FileSources,
  header: RunHeader,
  { files = Infinity, bytes = Infinity, signal, tenant, tooLargeError }: ReadLimits & ReaderOptions = {},
): FileReader {
  const filesByKey = new Map<string, Promise<LoadedFile | undefined>>();
  let remainingBytes = bytes;
  const readText = async (key: string): Promise<string> => {
    const text = (await readStoredText(sources.stores.values, key)) ?? '';
    remainingBytes -= Buffer.byteLength(text);
    return text;
  };
  const read = async (key: string): Promise<LoadedFile | undefined> => {
    const file = await parseTenantFile(sources, header, { key, text: await readText(key), tenant });
    if (!file) return undefined;
    const isReadable =
      file.bytes <= Math.min(MAX_FILE_BYTES, Math.max(0, remainingBytes)) || file.base64 !== undefined;
    return { ...file, content: isReadable ? await readWholeContent(file, readText) : undefined };
  };
  return async ({ id, key }) => {
    let reading = filesByKey.get(key);
    if (!reading) {
      if (signal?.aborted || remainingBytes <= 0 || filesByKey.size >= files) return undefined;
      filesByKey.set(key, (reading = read(key)));
    }
    const file = await reading;
    if (file?.id !== id) return undefined;
    if (tooLargeError && file.bytes > MAX_FILE_BYTES) throw tooLargeError(file.bytes, MAX_FILE_BYTES);
    return file.content;
  };
}

interface LoadedFile extends StoredFile {
  content: string | undefined;
}

/** Returns the content as Base64; undefined if a part is missing. */
async function readWholeContent(
  { base64, parts, id, owner }: StoredFile,
  readText: (key: string) => Promise<string>,
): Promise<string | undefined> {
  if (base64 !== undefined) return base64;
  const contents: string[] = [];
  for (const [index, key] of parts.entries()) {
    const text = partContent(await readText(key), { id, owner, index });
    if (text === undefined) return undefined;
    contents.push(text);
  }
  return contents.join('');
}

/** Opens a file of the run's tenant by its record; undefined if the record belongs to no such file. */
export async function openFile(
  sources: FileSources,
  header: RunHeader,
  { id, key, tenant }: Pick<FileRecord, 'id' | 'key'> & Pick<ReaderOptions, 'tenant'>,
): Promise<FileContent | undefined> {
  const { values } = sources.stores;
  const text = (await readStoredText(values, key)) ?? '';
  const file = await parseTenantFile(sources, header, { key, text, tenant });
  if (file?.id !== id) return undefined;
  return { bytes: file.bytes, chunks: () => chunksOf(file, values) };
}

async function* chunksOf(
  { base64, parts, id, owner }: StoredFile,
  values: ValueStore,
): AsyncGenerator<Uint8Array, void> {
  if (base64 !== undefined) yield Buffer.from(base64, 'base64');
  for (const [index, key] of parts.entries()) {
    const text = partContent(await values.get(key), { id, owner, index });
    if (text === undefined)
      throw new EngineError('VALUE_MISSING', `Part ${index + 1} of a stored file is missing.`, {
        details: { key },
      });
    yield Buffer.from(text, 'base64');
  }
}

/** Parses the stored text of the file with this key; undefined unless the file belongs to the tenant of the run. */
async function parseTenantFile(
  sources: FileSources,
  header: RunHeader,
  { key, text, tenant }: { key: string; text: string } & Pick<ReaderOptions, 'tenant'>,
): Promise<StoredFile | undefined> {
  const storedValue = parseJson(text);
  if (!isJsonObject(storedValue)) return undefined;
  const [id, owner, base64] = ['file', 'owner', 'data'].map((name) => getOwn(storedValue, name));
  if (typeof id !== 'string') return undefined;
  const runTenant = await (tenant ?? (async () => sources.tenant(header.workflowId)))();
  const belongsToTenant =
    owner === undefined
      ? await canReadOlderFile(sources, header, { id, key }, runTenant)
      : owner === (runTenant ?? null);
  if (!belongsToTenant) return undefined;
  if (typeof base64 === 'string')
    return { id, owner: owner ?? null, base64, bytes: Buffer.byteLength(base64, 'base64'), parts: [] };
  const partList = parsePartList(storedValue);
  return partList && { id, owner: owner ?? null, ...partList };
}

/** Maximum number of reruns and parent runs that are followed. */
const MAX_ORIGINS = 100;

/**
 * Returns true if the run can read a file that was stored before files had owners: the run has no tenant, or the file
 * was part of its input. The input of a run that was created after files had owners is no proof, because a caller can
 * write any record into an input. Instead, the parent of such a run is checked, or the run whose outputs it reuses.
 */
async function canReadOlderFile(
  sources: FileSources,
  header: RunHeader,
  file: Pick<FileRecord, 'id' | 'key'>,
  runTenant: string | undefined,
): Promise<boolean> {
  if (runTenant === undefined) return true;
  let ancestor: RunHeader | undefined = header;
  for (let step = 0; ancestor && step < MAX_ORIGINS; step += 1) {
    if ((await sources.tenant(ancestor.workflowId)) !== runTenant) return false;
    if (!ancestor.ownsFiles)
      return filesIn(await inputOf(sources, ancestor)).some(
        ({ id, key }) => id === file.id && key === file.key,
      );
    const origin: string | undefined = ancestor.parent?.runId ?? (await reusedRunId(sources, ancestor.runId));
    ancestor = origin === undefined ? undefined : await sources.stores.runs.header(origin);
  }
  return false;
}

async function inputOf({ stores, values }: FileSources, { runId }: RunHeader): Promise<Json> {
  const record = await stores.runs.record(runId);
  return record ? values.load(record.input) : null;
}

/** Returns the id of the run whose outputs this run reuses; undefined if there is none. */
async function reusedRunId({ stores }: FileSources, runId: string): Promise<string | undefined> {
  const [firstEntry] = await stores.runs.journal(runId);
  return firstEntry?.type === 'started' ? firstEntry.reused?.runId : undefined;
}

async function readStoredText(values: ValueStore, key: string): Promise<string | undefined> {
  try {
    return await values.get(key);
  } catch (error) {
    // The value was stored, and has been removed since.
    if (isEngineError(error) && error.code === 'VALUE_MISSING') return undefined;
    throw error;
  }
}
