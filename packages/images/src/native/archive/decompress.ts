import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import zlib from 'node:zlib';
import xz from 'xz-decompress';
import { ImageError } from '../../error.ts';

/** Compression of a file, by its extension; `''` for none. */
export type Compression = '.xz' | '.gz' | '.zst' | '';

/** Returns the compression for a file name, or undefined for an unsupported one. */
export function compressionOf(name: string): Compression | undefined {
  const [extension = ''] = /\.(?:xz|gz|zst|bz2|lzma)$/.exec(name) ?? [''];
  return extension === '.xz' || extension === '.gz' || extension === '.zst' || extension === ''
    ? extension
    : undefined;
}

/** Returns a stream of the decompressed bytes. It fails with the error of the library if the bytes are invalid. */
export function decompress(bytes: Uint8Array, compression: Compression): Readable {
  const source = Readable.from(chunksOf(bytes), { objectMode: false });
  if (compression === '') return source;
  if (compression === '.xz') {
    const compressedStream = Readable.toWeb(source) as unknown as ConstructorParameters<
      typeof xz.XzReadableStream
    >[0];
    return Readable.fromWeb(new xz.XzReadableStream(compressedStream) as unknown as ReadableStream);
  }
  const decoder = compression === '.gz' ? zlib.createGunzip() : zlib.createZstdDecompress();
  source.on('error', (error) => decoder.destroy(error));
  return source.pipe(decoder);
}

const CHUNK_BYTES = 1 << 20;

/** Yields the bytes in chunks: decompressing all of them in one step would hold the whole result in memory. */
function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += CHUNK_BYTES)
    yield bytes.subarray(offset, offset + CHUNK_BYTES);
}

/**
 * Decompresses bytes to a string. `name` is the file's name in messages.
 * @throws ImageError integrity_error if the bytes are invalid, image_too_large if the string exceeds `maxBytes`.
 */
export async function decompressText(
  bytes: Uint8Array,
  { compression, maxBytes, name }: { compression: Compression; maxBytes: number; name: string },
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of decompress(bytes, compression) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > maxBytes) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new ImageError('integrity_error', `${name} cannot be unpacked: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (size > maxBytes)
    throw new ImageError('image_too_large', `${name} has more than ${maxBytes} bytes when it is unpacked.`);
  return Buffer.concat(chunks).toString('utf8');
}
