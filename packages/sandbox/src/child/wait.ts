import { readSync, writeSync } from 'node:fs';
import { MAX_HEAD_CHARS, decodeFrame, encodeFrame } from '../frames.ts';
import { SYNC_FD } from '../isolation/program.ts';

const waitArray = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread for `ms` milliseconds. Returns the response to the guest, an empty string. */
export function sleepSync(ms: number): string {
  if (ms > 0) Atomics.wait(waitArray, 0, 0, ms);
  return '';
}

function writeAll(bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length;) offset += writeSync(SYNC_FD, bytes, offset);
}

function readAll(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let offset = 0; offset < length;) {
    const count = readSync(SYNC_FD, bytes, offset, length - offset, null);
    // The supervisor has exited, so the job's result is not needed.
    if (count === 0) process.exit(0);
    offset += count;
  }
  return bytes;
}

interface SyncCall {
  readonly op: string;
  readonly head: string;
  /** Bytes as a binary string. */
  readonly body: string | undefined;
}

/** The answer to a request that is too long to send: the same as the supervisor's. */
const TOO_LONG_ANSWER = JSON.stringify({
  code: 'EGRESS_DENIED',
  message: `The request has more than ${MAX_HEAD_CHARS} characters besides its body.`,
});

/** Sends a host call and blocks. Returns its answer: `+` or `-`, the length of the head, a colon, head and body. */
export function callHostSync({ op, head, body }: SyncCall, id: number): string {
  if (head.length > MAX_HEAD_CHARS) return `-${TOO_LONG_ANSWER.length}:${TOO_LONG_ANSWER}`;
  writeAll(encodeFrame({ id, op, head }, body === undefined ? null : Buffer.from(body, 'latin1')));
  const answer = decodeFrame<{ ok: boolean; head: string }>(readAll(readAll(4).readUInt32LE(0)));
  const text = `${answer.fields.ok ? '+' : '-'}${answer.fields.head.length}:${answer.fields.head}`;
  return answer.body === null ? text : text + Buffer.from(answer.body).toString('latin1');
}
