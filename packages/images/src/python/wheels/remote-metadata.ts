import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { RandomAccessReader } from 'yauzl';
import type { BuildContext } from '../../builder.ts';
import { ImageError, isImageError } from '../../error.ts';
import type { AvailableWheel } from '../sources/source.ts';
import { MAX_WHEEL_BYTES } from './limits.ts';
import { readMetadataFromFile, readMetadataFromReader } from './wheel-metadata.ts';

const MAX_METADATA_BYTES = 4 * 2 ** 20;

/** Block size for range requests: the end of a wheel contains its directory and usually its metadata. */
const BLOCK_BYTES = 96 * 2 ** 10;

/** Smaller wheels are fetched whole: this costs little more, and they are needed if chosen. */
const SMALL_WHEEL_BYTES = 256 * 2 ** 10;

/**
 * Returns the METADATA of a wheel in an index: from a separate file (PEP 658, 714), otherwise by range requests,
 * otherwise from the whole file.
 */
export async function fetchMetadata(availableWheel: AvailableWheel, context: BuildContext): Promise<string> {
  return (
    (await fetchSeparateFile(availableWheel, context)) ??
    (await fetchByRanges(availableWheel, context)) ??
    (await fetchWholeWheel(availableWheel, context))
  );
}

async function fetchSeparateFile(
  { metadata, location }: AvailableWheel,
  context: BuildContext,
): Promise<string | undefined> {
  if (!metadata) return undefined;
  const url = `${location}.metadata`;
  if (metadata.digest !== undefined) {
    try {
      const { path } = await context.fetchVerified(url, metadata.digest, { maxBytes: MAX_METADATA_BYTES });
      return await readFile(path, 'utf8');
    } catch (error) {
      if (isImageError(error) && error.code === 'package_not_found') return undefined;
      throw error;
    }
  }
  const page = await context.fetchPage(url, { maxBytes: MAX_METADATA_BYTES });
  return page.status === 200 ? new TextDecoder().decode(page.body) : undefined;
}

async function fetchByRanges(
  { location, size }: AvailableWheel,
  context: BuildContext,
): Promise<string | undefined> {
  if (size === undefined || size <= SMALL_WHEEL_BYTES) return undefined;
  try {
    return await readMetadataFromReader(new RemoteFile(location, size, context), size);
  } catch (error) {
    if (error instanceof RangesUnsupportedError) return undefined;
    throw error;
  }
}

async function fetchWholeWheel(
  { location, digest, filename }: AvailableWheel,
  context: BuildContext,
): Promise<string> {
  if (digest === undefined)
    throw new ImageError('integrity_error', `The index has no digest for ${filename}.`);
  const { path } = await context.fetchVerified(location, digest, { maxBytes: MAX_WHEEL_BYTES });
  return readMetadataFromFile(path);
}

/** Thrown if a server does not support range requests. */
class RangesUnsupportedError extends Error {}

/** A file at a URL that is read in parts. */
class RemoteFile extends RandomAccessReader {
  readonly #url: string;
  readonly #size: number;
  readonly #context: BuildContext;
  /** Blocks by number, counted from the end of the file. */
  readonly #blocks = new Map<number, Promise<Uint8Array>>();

  constructor(url: string, size: number, context: BuildContext) {
    super();
    this.#url = url;
    this.#size = size;
    this.#context = context;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    const read = (): Promise<Buffer> => this.#read(start, end);
    async function* chunks(): AsyncGenerator<Buffer> {
      yield await read();
    }
    return Readable.from(chunks(), { objectMode: false });
  }

  async #read(start: number, end: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    const lastBlock = Math.floor((this.#size - end) / BLOCK_BYTES);
    const firstBlock = Math.floor((this.#size - start - 1) / BLOCK_BYTES);
    for (let blockNumber = firstBlock; blockNumber >= lastBlock; blockNumber--) {
      const blockEnd = this.#size - blockNumber * BLOCK_BYTES;
      const blockStart = Math.max(0, blockEnd - BLOCK_BYTES);
      const block = this.#blocks.get(blockNumber) ?? this.#fetch(blockStart, blockEnd);
      this.#blocks.set(blockNumber, block);
      parts.push((await block).subarray(Math.max(0, start - blockStart), end - blockStart));
    }
    return Buffer.concat(parts);
  }

  async #fetch(start: number, end: number): Promise<Uint8Array> {
    try {
      const headers = { range: `bytes=${start}-${end - 1}`, 'accept-encoding': 'identity' };
      const page = await this.#context.fetchPage(this.#url, { maxBytes: end - start, headers });
      if (page.status === 206 && page.body.byteLength === end - start) return page.body;
    } catch (error) {
      // A server without range support sends the whole file, which exceeds the limit.
      if (!isImageError(error) || error.code !== 'image_too_large') throw error;
    }
    throw new RangesUnsupportedError();
  }
}
