import { EngineError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { BlockConfig, Json, JsonObject } from '@heddle/core/blocks';
import { sanitizeFileName, MAX_FILE_BYTES } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { ValueStore } from '@heddle/core';
import { coerceField } from '../executors/input-format.ts';
import type { HttpClient } from '../executors/services.ts';
import { fileFields } from '../executors/start.ts';
import { storeFile } from './storage.ts';
import type { NewFile } from './storage.ts';
import { FileRejectedError, fileTooLargeError, parseDataUrl, parseFileInput } from './parse.ts';
import type { FileInput } from './parse.ts';

/** Limits for the files of one input. */
export interface FileLimits {
  /** Default 50. */
  files?: number;
  /** Total bytes. Default: no limit beyond those for one file and for the number of files. */
  bytes?: number;
}

/** Options for storing the files of an input. */
export interface StoreFilesOptions {
  limits?: FileLimits;
  /** Called after each file is stored, even if a later file is rejected. */
  onStored?: (file: FileRecord) => void;
  /** Fields of the input that contain files, besides those of the start block. */
  fields?: readonly string[];
}

/** Default maximum number of files in one input. */
const MAX_FILES = 50;

/** The dependencies and options for storing the files of an input. */
export interface IngestContext {
  values: ValueStore;
  httpClient: () => Promise<HttpClient>;
  /** Returns the tenant that will own the files. Called only if there are files. */
  owner: () => Promise<string | undefined> | string | undefined;
  signal?: AbortSignal | undefined;
  limits?: FileLimits | undefined;
  onStored?: StoreFilesOptions['onStored'] | undefined;
  fields?: StoreFilesOptions['fields'];
}

/** Returns false if no field of the input can contain a file. */
export function mayContainFiles(input: Json): boolean {
  if (!isJsonObject(input)) return false;
  return Object.values(input).some((value) => asList(value) !== undefined);
}

/**
 * Stores the files in the file fields of the start block, and returns the input with records in place of the files.
 * Omits items of a field that are not files. A field without files stays unchanged.
 *
 * Throws INPUT_INVALID for a file that cannot be stored.
 */
export async function ingestFiles(block: BlockConfig, input: Json, context: IngestContext): Promise<Json> {
  if (!isJsonObject(input)) return input;
  const nestedInput = getOwn(input, 'input');
  const nestedObject = isJsonObject(nestedInput) ? nestedInput : {};
  const topLevelRecords = new Map<string, FileRecord[]>();
  const nestedRecords = new Map<string, FileRecord[]>();
  const names = new Set([...fileFields(block), ...(context.fields ?? [])]);
  const fields = [...names].map((field) => {
    const isTopLevel = (getOwn(nestedObject, field) ?? null) === null;
    return {
      field,
      records: isTopLevel ? topLevelRecords : nestedRecords,
      files: parseFileInputs(getOwn(isTopLevel ? input : nestedObject, field)),
    };
  });
  const fileCount = fields.reduce((sum, { files }) => sum + files.length, 0);
  checkCount(fileCount, context.limits);
  if (fileCount === 0) return input;
  const owner = await context.owner();
  const remaining = { bytes: context.limits?.bytes ?? Infinity };
  for (const { field, records, files } of fields)
    if (files.length > 0) records.set(field, await storeAll(files, { ...context, owner }, remaining));
  return {
    ...input,
    ...(nestedRecords.size > 0 && { input: { ...nestedObject, ...toObject(nestedRecords) } }),
    ...toObject(topLevelRecords),
  };
}

function checkCount(count: number, { files = MAX_FILES }: FileLimits = {}): void {
  if (count <= files) return;
  throw invalidInputError(`The input has ${count} files, more than the maximum of ${files}: send fewer`);
}

/** Stores the files one after the other, so that only one is in memory at a time. */
async function storeAll(
  inputs: readonly FileInput[],
  {
    values,
    httpClient,
    owner,
    signal,
    onStored,
  }: Omit<IngestContext, 'owner'> & { owner: string | undefined },
  remaining: { bytes: number },
): Promise<FileRecord[]> {
  const records: FileRecord[] = [];
  for (const input of inputs) {
    try {
      const file =
        input.kind === 'file' ? parseDataUrl(input) : await downloadFile(await httpClient(), input, signal);
      remaining.bytes -= Buffer.byteLength(file.base64, 'base64');
      if (remaining.bytes < 0)
        throw new FileRejectedError('the files of the input exceed the total size limit');
      const record = await storeFile(values, file, owner);
      onStored?.(record);
      records.push(record);
    } catch (error) {
      if (!(error instanceof FileRejectedError)) throw error;
      throw invalidInputError(`Failed to upload file: ${sanitizeFileName(input.name)} (${error.message})`);
    }
  }
  return records;
}

function parseFileInputs(value: Json | undefined): FileInput[] {
  return (asList(value) ?? []).flatMap((item) => parseFileInput(item) ?? []);
}

/** Returns the items of a file field, which is a list, a single file, or the JSON text of either. */
function asList(value: Json | undefined): Json[] | undefined {
  const files = value === undefined ? null : coerceField(value, 'file[]');
  if (typeof files !== 'object' || files === null) return undefined;
  return Array.isArray(files) ? files : [files];
}

function toObject(files: ReadonlyMap<string, FileRecord[]>): JsonObject {
  return Object.fromEntries(files) as unknown as JsonObject;
}

function invalidInputError(message: string): EngineError {
  return new EngineError('INPUT_INVALID', message);
}

/** Maximum time for the download of one file, redirects included. */
const DOWNLOAD_TIMEOUT_MS = 30_000;

/** Downloads a file through the HTTP client with the egress policy. Throws FileRejectedError. */
async function downloadFile(httpClient: HttpClient, file: FileInput, signal?: AbortSignal): Promise<NewFile> {
  const { name, data: url, mime } = file;
  try {
    const limits = { timeoutMs: DOWNLOAD_TIMEOUT_MS, maxResponseBytes: MAX_FILE_BYTES };
    const { status, headers, body } = await httpClient.fetch({ url, ...limits, ...(signal && { signal }) });
    if (status < 200 || status > 299)
      throw new FileRejectedError(`its server responded with status ${status}`);
    const type = mime ?? headers.find(([header]) => header === 'content-type')?.[1];
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return { name, type, base64: bytes.toString('base64') };
  } catch (error) {
    // Costs nothing: the HTTP client has loaded this module already.
    const { isEgressError } = await import('@heddle/sandbox/egress');
    if (!isEgressError(error)) throw error;
    throw error.code === 'EGRESS_TOO_LARGE' ? fileTooLargeError() : new FileRejectedError(error.message);
  }
}
