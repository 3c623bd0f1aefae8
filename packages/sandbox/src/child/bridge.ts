import { createHash, createHmac, randomBytes } from 'node:crypto';

/** A guest message with a verified shape. Its content is not trusted. */
export type GuestMessage =
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'result' | 'error'; readonly json: string }
  | { readonly kind: 'timer'; readonly id: number; readonly ms: number }
  | { readonly kind: 'clear'; readonly id: number }
  | {
      readonly kind: 'call';
      readonly callId: number;
      readonly op: string;
      readonly head: string;
      readonly body: string | undefined;
    }
  /** A host call during which the guest blocks. */
  | { readonly kind: 'sync'; readonly op: string; readonly head: string; readonly body: string | undefined }
  | { readonly kind: 'sleep'; readonly ms: number }
  /** The job's realm must not be used again. */
  | { readonly kind: 'taint' }
  | { readonly kind: 'random'; readonly byteCount: number }
  /** Requests guest code that is not in the snapshot. */
  | { readonly kind: 'chunk'; readonly name: string }
  | {
      readonly kind: 'hash';
      readonly algorithm: string;
      readonly key: string | undefined;
      readonly data: string;
    };

const HASH_ALGORITHMS: Readonly<Record<string, string>> = {
  '1': 'sha1',
  '256': 'sha256',
  '384': 'sha384',
  '512': 'sha512',
};
const MAX_RANDOM_BYTES = 65_536;

function parseWholeNumber(text: string, max: number): number | undefined {
  return /^\d{1,15}$/.test(text) && Number(text) <= max ? Number(text) : undefined;
}

function readTimer(content: string): GuestMessage | undefined {
  const match = /^(\d{1,15}):(\d+(?:\.\d+)?(?:e\+\d+)?|Infinity)$/.exec(content);
  return match === null ? undefined : { kind: 'timer', id: Number(match[1]), ms: Number(match[2]) };
}

function readCall(content: string): GuestMessage | undefined {
  const match = /^(\d{1,15}):([a-z]{1,20}):([+-])(\d{1,9}):/.exec(content.slice(0, 64));
  if (match === null) return undefined;
  const start = match[0].length;
  const end = start + Number(match[4]);
  if (end > content.length) return undefined;
  const body = match[3] === '+' ? content.slice(end) : undefined;
  const head = content.slice(start, end);
  return { kind: 'call', callId: Number(match[1]), op: match[2] as string, head, body };
}

function readSync(content: string): GuestMessage | undefined {
  const message = readCall('0:' + content);
  if (message?.kind !== 'call') return undefined;
  const { op, head, body } = message;
  return { kind: 'sync', op, head, body };
}

function readSleep(content: string): GuestMessage | undefined {
  const message = readTimer('0:' + content);
  return message?.kind === 'timer' ? { kind: 'sleep', ms: message.ms } : undefined;
}

function readHash(content: string): GuestMessage | undefined {
  const match = /^(1|256|384|512):(?:-|\+(\d{1,9})):/.exec(content.slice(0, 24));
  if (match === null) return undefined;
  const start = match[0].length;
  const end = start + Number(match[2] ?? 0);
  if (end > content.length) return undefined;
  const key = match[2] === undefined ? undefined : content.slice(start, end);
  return {
    kind: 'hash',
    algorithm: HASH_ALGORITHMS[match[1] as string] as string,
    key,
    data: content.slice(end),
  };
}

function readClear(content: string): GuestMessage | undefined {
  const id = parseWholeNumber(content, Number.MAX_SAFE_INTEGER);
  return id === undefined ? undefined : { kind: 'clear', id };
}

function readRandom(content: string): GuestMessage | undefined {
  const byteCount = parseWholeNumber(content, MAX_RANDOM_BYTES);
  return byteCount === undefined ? undefined : { kind: 'random', byteCount };
}

/**
 * The readers of guest messages, by code. The first character of a message is its code (one letter, for speed), the
 * rest its content.
 *
 * The comments describe the content and the response: what `send` in guest/channel.ts returns. If a comment states no
 * response, it is undefined. After the end of a job, the response to every message is -1. The programs of native jobs
 * write their result as one message `D` or `E`.
 */
const READERS: Readonly<Record<string, (content: string) => GuestMessage | undefined>> = {
  // Log: a line of console output. Response: 0 once no more output is accepted.
  L: (line) => ({ kind: 'log', line }),
  // Done: the result as JSON. Ends the job.
  D: (json) => ({ kind: 'result', json }),
  // Error: a GuestError as JSON. Ends the job.
  E: (json) => ({ kind: 'error', json }),
  // Timer: `id:ms`. Starts a timer; the process calls the guest when it is due.
  T: readTimer,
  // Cancelled timer: `id`.
  X: readClear,
  // Host call: `id:op:`, `+` or `-` (with or without a body), the length of the head, `:`, head and body. The process
  // calls the guest with the host's answer.
  C: readCall,
  // Synchronous host call: as for `C`, without `id:`. Response: the host's answer, see `callHostSync`.
  S: readSync,
  // Sleep: `ms`. Blocks for this time. Response: ''.
  Z: readSleep,
  // Taint: no content. The realm is not used for another job.
  Q: (content) => (content === '' ? { kind: 'taint' } : undefined),
  // Random: a number of bytes. Response: the bytes as a binary string.
  R: readRandom,
  // Module: the name of a chunk. Response: its code.
  M: (name) => ({ kind: 'chunk', name }),
  // Hash: `algorithm:`, then `-:` and the data, or `+`, the length of the key, `:`, key and data. Response: the digest
  // or HMAC as a binary string.
  H: readHash,
};

/** Returns the message in `text`, or undefined if it is malformed, which the caller treats as an attack. */
export function readMessage(text: unknown): GuestMessage | undefined {
  if (typeof text !== 'string') return undefined;
  const code = text[0] ?? '';
  return Object.hasOwn(READERS, code) ? READERS[code]?.(text.slice(1)) : undefined;
}

/** Returns random bytes as a binary string. */
export function randomBinaryString(byteCount: number): string {
  return randomBytes(byteCount).toString('latin1');
}

/** Returns the digest (or with a key the HMAC) of a binary string, as a binary string. */
export function hash(message: GuestMessage & { kind: 'hash' }): string {
  const hasher =
    message.key === undefined
      ? createHash(message.algorithm)
      : createHmac(message.algorithm, Buffer.from(message.key, 'latin1'));
  return hasher.update(message.data, 'latin1').digest().toString('latin1');
}
