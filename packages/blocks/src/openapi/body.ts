import { Buffer } from 'node:buffer';

export type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/** Initial size of the buffer in bytes. It grows when it is full. */
const INITIAL_BYTES = 64 * 1024;

/** Reads a body until more than `limit` bytes have arrived or the body ends. `isComplete`: the body has ended. */
export async function readStart(
  reader: BodyReader,
  limit: number,
): Promise<{ bytes: Uint8Array; isComplete: boolean }> {
  let bytes = Buffer.alloc(Math.min(limit, INITIAL_BYTES));
  let length = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return { bytes: bytes.subarray(0, length), isComplete: true };
    // Doubled, so that the content is not copied for every small chunk.
    if (length + value.length > bytes.length)
      bytes = Buffer.concat([bytes], Math.max(2 * bytes.length, length + value.length));
    bytes.set(value, length);
    length += value.length;
    if (length > limit) return { bytes: bytes.subarray(0, length), isComplete: false };
  }
}

/** Returns the whole body: the bytes that `readStart` has read, and the remaining bytes as they arrive. */
export async function* chunksFrom(start: Uint8Array, reader: BodyReader): AsyncGenerator<Uint8Array, void> {
  yield start;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}
