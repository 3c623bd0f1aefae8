import type { ValueStore } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';

/**
 * Bytes of each part of a file except the last. A multiple of three, so that the Base64 strings of the parts can be
 * joined.
 */
export const PART_BYTES = 3 * 2 ** 20;

/** A file that is stored in parts, so that it is never in memory as a whole. */
export interface FileParts {
  /** Bytes of all parts. */
  bytes: number;
  /** Keys of the parts, in order. */
  parts: string[];
}

/**
 * Stores chunks as parts of a file. If there is only one part, stores nothing and returns it as Base64.
 *
 * Throws the errors of `chunks`; then the stored parts are removed.
 */
export async function storeParts(
  values: Pick<ValueStore, 'put' | 'prune'>,
  { id, owner }: { id: string; owner: string | undefined },
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ base64: string } | FileParts> {
  const parts: string[] = [];
  const put = async (data: string): Promise<void> => {
    // The id makes the key of each part as hard to guess as the key of the file.
    parts.push(
      await values.put(JSON.stringify({ part: id, owner: owner ?? null, index: parts.length, data })),
    );
  };
  try {
    let bytes = 0;
    for await (const { base64, size, isLast } of sliceChunks(chunks)) {
      bytes += size;
      if (isLast && parts.length === 0) return { base64 };
      await put(base64);
    }
    return { bytes, parts };
  } catch (error) {
    await values.prune(parts, 0);
    throw error;
  }
}

/**
 * Returns the chunks as slices of `PART_BYTES`. Keeping chunks of one byte as separate objects would take a hundred
 * times their size.
 */
async function* sliceChunks(chunks: AsyncIterable<Uint8Array>) {
  const buffer = Buffer.allocUnsafeSlow(PART_BYTES);
  let length = 0;
  const slice = (isLast: boolean) => ({ base64: buffer.toString('base64', 0, length), size: length, isLast });
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length;) {
      if (length === PART_BYTES) {
        yield slice(false);
        length = 0;
      }
      const end = Math.min(chunk.length, offset + PART_BYTES - length);
      buffer.set(chunk.subarray(offset, end), length);
      length += end - offset;
      offset = end;
    }
  }
  yield slice(true);
}

/** Returns the parts that a stored value lists; undefined if it is not a file in parts. */
export function parsePartList(value: Json): FileParts | undefined {
  if (!isJsonObject(value)) return undefined;
  const [bytes, parts] = [getOwn(value, 'bytes'), getOwn(value, 'parts')];
  const hasValidKeys = Array.isArray(parts) && parts.every((key) => typeof key === 'string');
  return hasValidKeys && Number.isSafeInteger(bytes)
    ? { bytes: Number(bytes), parts: parts as string[] }
    : undefined;
}

/**
 * Returns the Base64 content of a part; undefined if the value is not the expected part. A list of parts cannot be
 * trusted, because a workflow can store one with arbitrary keys.
 */
export function partContent(
  text: string | undefined,
  expected: { id: string; owner: Json; index: number },
): string | undefined {
  const part = text === undefined ? undefined : parseJson(text);
  if (!isJsonObject(part)) return undefined;
  const [id, owner, index, data] = ['part', 'owner', 'index', 'data'].map((name) => getOwn(part, name));
  const isPart = id === expected.id && owner === expected.owner && index === expected.index;
  return isPart && typeof data === 'string' ? data : undefined;
}
