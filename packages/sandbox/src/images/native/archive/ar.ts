const MAGIC = '!<arch>\n';
const HEADER_BYTES = 60;

/** A member of an archive of `ar`, as a view of its bytes. */
export interface ArMember {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The members of an archive of `ar`, or null where the bytes are none. */
export function readAr(bytes: Uint8Array): ArMember[] | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.toString('latin1', 0, MAGIC.length) !== MAGIC) return null;
  const members: ArMember[] = [];
  for (let at = MAGIC.length; at < buffer.length;) {
    if (at + HEADER_BYTES > buffer.length) return null;
    const header = buffer.toString('latin1', at, at + HEADER_BYTES);
    const size = Number(header.slice(48, 58));
    const start = at + HEADER_BYTES;
    if (!header.endsWith('`\n') || !Number.isSafeInteger(size) || size < 0 || start + size > buffer.length)
      return null;
    members.push({
      name: header.slice(0, 16).trim().replace(/\/$/, ''),
      bytes: buffer.subarray(start, start + size),
    });
    // Members begin at even places.
    at = start + size + (size % 2);
  }
  return members;
}
