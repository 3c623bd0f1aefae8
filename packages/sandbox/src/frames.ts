/** Maximum length of a host call without its body, as JSON. The longest URL and headers that egress allows fit. */
export const MAX_HEAD_CHARS = 512 * 1024;

/**
 * Returns a frame for the synchronous call pipe. It consists of the length of what follows, a header, the fields as
 * JSON and the body. The header is twice the length of the fields, plus one if there is a body.
 */
export function encodeFrame(fields: object, body: Uint8Array | null): Uint8Array {
  const json = Buffer.from(JSON.stringify(fields));
  const frame = Buffer.allocUnsafe(8 + json.length + (body?.length ?? 0));
  frame.writeUInt32LE(frame.length - 4, 0);
  frame.writeUInt32LE(json.length * 2 + (body === null ? 0 : 1), 4);
  json.copy(frame, 8);
  if (body !== null) frame.set(body, 8 + json.length);
  return frame;
}

/**
 * Reads a frame, passed without its leading length. Returns its fields and body. Throws if the frame is malformed, or
 * if its fields have more than `maxFieldBytes`.
 */
export function decodeFrame<T>(
  frame: Buffer,
  maxFieldBytes = Infinity,
): { fields: T; body: Uint8Array | null } {
  const header = frame.readUInt32LE(0);
  const end = 4 + Math.floor(header / 2);
  if (end > frame.length) throw new RangeError('The frame is shorter than its fields.');
  if (end > 4 + maxFieldBytes) throw new RangeError('The fields of the frame are too long.');
  const fields = JSON.parse(frame.toString('utf8', 4, end)) as T;
  return { fields, body: header % 2 === 1 ? frame.subarray(end) : null };
}
