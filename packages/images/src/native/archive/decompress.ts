import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import zlib from 'node:zlib';
import xz from 'xz-decompress';
import { ImageError } from '../../error.ts';

/** How a file is packed, by the end of its name; `''`: not at all. */
export type Packing = '.xz' | '.gz' | '.zst' | '';

/** The packing that a file's name tells, or null where it is one that nobody uses here. */
export function packingOf(name: string): Packing | null {
  const [ending = ''] = /\.(?:xz|gz|zst|bz2|lzma)$/.exec(name) ?? [''];
  return ending === '.xz' || ending === '.gz' || ending === '.zst' || ending === '' ? ending : null;
}

/** The bytes as a stream of what was packed; its errors are the library's. */
export function unpacked(bytes: Uint8Array, packing: Packing): Readable {
  const source = Readable.from(chunksOf(bytes), { objectMode: false });
  if (packing === '') return source;
  if (packing === '.xz') {
    const packed = Readable.toWeb(source) as unknown as ConstructorParameters<typeof xz.XzReadableStream>[0];
    return Readable.fromWeb(new xz.XzReadableStream(packed) as unknown as ReadableStream);
  }
  const decoder = packing === '.gz' ? zlib.createGunzip() : zlib.createZstdDecompress();
  source.on('error', (error) => decoder.destroy(error));
  return source.pipe(decoder);
}

const CHUNK_BYTES = 1 << 20;

/** In pieces: what takes all at once would hold all that it unpacks. */
function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/**
 * The text that was packed.
 * @throws ImageError integrity_error where it cannot be unpacked, image_too_large.
 */
export async function unpackedText(
  bytes: Uint8Array,
  { packing, maxBytes, name }: { packing: Packing; maxBytes: number; name: string },
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of unpacked(bytes, packing) as AsyncIterable<Uint8Array>) {
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
