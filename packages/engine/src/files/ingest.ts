import { EngineError, isJsonObject, own } from '@heddle/core/blocks';
import { fileName } from '@heddle/core/files';
import type { BlockConfig, Json, JsonObject } from '@heddle/core/blocks';
import type { FileRecord } from '@heddle/core/files';
import type { ValueStore } from '@heddle/core';
import { coerceField } from '../executors/input-format.ts';
import type { HttpClient } from '../executors/services.ts';
import { fileFields } from '../executors/start.ts';
import { downloadFile } from './fetched.ts';
import { storeFile } from './storage.ts';
import { FileRejected, parseDataUrl, parseFileInput } from './parse.ts';
import type { FileInput } from './parse.ts';

/** Bounds of the files of one input. */
export interface FileLimits {
  /** Default 50. */
  files?: number;
  /** Bytes of all files together; default: as many as single files may have. */
  bytes?: number;
}

/** How files are taken. */
export interface TakeFilesOptions {
  limits?: FileLimits;
  /** Told of each file as it is stored, also when another one is refused later. */
  onStored?: (file: FileRecord) => void;
}

/** Most files of one input. */
const MOST_FILES = 50;

/** Where the content of files goes, and how it is fetched. */
export interface IngestContext {
  values: ValueStore;
  httpClient: () => Promise<HttpClient>;
  /** The tenant that the files are stored for. */
  owner: string | undefined;
  signal?: AbortSignal | undefined;
  limits?: FileLimits | undefined;
  onStored?: TakeFilesOptions['onStored'] | undefined;
}

/** False for an input in which no field can hold a file. */
export function mayHoldFiles(input: Json): boolean {
  if (!isJsonObject(input)) return false;
  return Object.values(input).some((value) => asList(value) !== undefined);
}

/**
 * The input with the files of the start's file fields kept, and their records in place of them. Entries of another form
 * than a file's are left out; a field without any file stays as it is.
 *
 * Throws INPUT_INVALID for a file that cannot be taken.
 */
export async function ingestFiles(block: BlockConfig, input: Json, taking: IngestContext): Promise<Json> {
  if (!isJsonObject(input)) return input;
  const nested = own(input, 'input');
  const inner = isJsonObject(nested) ? nested : {};
  const top = new Map<string, FileRecord[]>();
  const below = new Map<string, FileRecord[]>();
  const fields = fileFields(block).map((field) => {
    const place =
      (own(inner, field) ?? null) === null ? { from: input, to: top } : { from: inner, to: below };
    return { field, to: place.to, sent: sentFiles(own(place.from, field)) };
  });
  expectFew(
    fields.reduce((count, { sent }) => count + sent.length, 0),
    taking.limits,
  );
  const left = { bytes: taking.limits?.bytes ?? Infinity };
  for (const { field, to, sent } of fields)
    if (sent.length > 0) to.set(field, await keepAll(sent, taking, left));
  if (top.size + below.size === 0) return input;
  return { ...input, ...(below.size > 0 && { input: replaced(inner, below) }), ...fromEntries(top) };
}

function expectFew(count: number, { files = MOST_FILES }: FileLimits = {}): void {
  if (count <= files) return;
  throw refused(`The input has ${count} files, more than the ${files} that a run takes: send fewer`);
}

/** One after the other: the content of one file at a time is in memory. */
async function keepAll(
  sent: readonly FileInput[],
  { values, httpClient, owner, signal, onStored }: IngestContext,
  left: { bytes: number },
): Promise<FileRecord[]> {
  const records: FileRecord[] = [];
  for (const each of sent) {
    try {
      const file =
        each.kind === 'file' ? parseDataUrl(each) : await downloadFile(await httpClient(), each, signal);
      left.bytes -= Buffer.byteLength(file.base64, 'base64');
      if (left.bytes < 0) throw new FileRejected('the files of the input are too large together');
      const record = await storeFile(values, file, owner);
      onStored?.(record);
      records.push(record);
    } catch (error) {
      if (!(error instanceof FileRejected)) throw error;
      throw refused(`Failed to upload file: ${fileName(each.name)} (${error.message})`);
    }
  }
  return records;
}

function sentFiles(value: Json | undefined): FileInput[] {
  return (asList(value) ?? []).flatMap((entry) => parseFileInput(entry) ?? []);
}

/** The files of a field: a list, one alone, or the JSON text of either. */
function asList(value: Json | undefined): Json[] | undefined {
  const given = value === undefined ? null : coerceField(value, 'file[]');
  if (typeof given !== 'object' || given === null) return undefined;
  return Array.isArray(given) ? given : [given];
}

function replaced(object: JsonObject, files: ReadonlyMap<string, FileRecord[]>): JsonObject {
  return { ...object, ...fromEntries(files) };
}

function fromEntries(files: ReadonlyMap<string, FileRecord[]>): JsonObject {
  return Object.fromEntries(files) as unknown as JsonObject;
}

function refused(message: string): EngineError {
  return new EngineError('INPUT_INVALID', message);
}
