import { randomUUID } from 'node:crypto';
import { isEngineError } from '@heddle/core';
import type { ValueStore } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { fileName, mediaType } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import { parseJson } from '../executors/values.ts';

/** A file as it came. */
export interface NewFile {
  name: string;
  /** Media type. */
  type: string | undefined;
  /** Its content. */
  base64: string;
}

/** Keeps a file in the value store, and gives its record: only who has that can name the key. */
export async function keepFile(values: ValueStore, { name, type, base64 }: NewFile): Promise<FileRecord> {
  const id = randomUUID();
  // The id is part of what is hashed: the key cannot be guessed by who has the same file.
  const key = await values.put(JSON.stringify({ file: id, data: base64 }));
  return { id, name: fileName(name), size: Buffer.byteLength(base64, 'base64'), type: mediaType(type), key };
}

/** The file's content as Base64; undefined when its key leads to no file, or not to this one. */
export async function readKept(
  values: ValueStore,
  { id, key }: Pick<FileRecord, 'id' | 'key'>,
): Promise<string | undefined> {
  const kept = parseJson((await storedText(values, key)) ?? '');
  if (!isJsonObject(kept) || kept['file'] !== id) return undefined;
  return typeof kept['data'] === 'string' ? kept['data'] : undefined;
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
