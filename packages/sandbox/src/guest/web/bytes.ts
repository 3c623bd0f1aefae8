import { apply, codeAt, NativeUint8Array, toText } from '../primordials.ts';

const fromCharCode = String.fromCharCode;
const CHUNK_BYTES = 8_192;
const { subarray } = Uint8Array.prototype;

/** Returns bytes as a binary string, one character per byte: messages to the process are strings. */
export function toBinary(bytes: Uint8Array): string {
  let text = '';
  for (let offset = 0; offset < bytes.length; offset += CHUNK_BYTES) {
    text += apply(
      fromCharCode,
      undefined,
      apply(subarray, bytes, [offset, offset + CHUNK_BYTES]) as unknown as number[],
    );
  }
  return text;
}

export function fromBinary(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new NativeUint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = codeAt(text, i);
  return bytes;
}

/** Returns the bytes of a buffer or view, sharing its memory; undefined for anything else. */
export function viewOf(value: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(value))
    return new NativeUint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  return value instanceof ArrayBuffer ? new NativeUint8Array(value) : undefined;
}

/** Like `viewOf`, but throws for anything that is not bytes. */
export function bytesOf(value: unknown, subject: string): Uint8Array {
  const view = viewOf(value);
  if (view === undefined)
    throw new TypeError(subject + ' must be a buffer or a view of one, not ' + toText(typeof value));
  return view;
}
