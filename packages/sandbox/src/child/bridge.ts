import { createHash, createHmac, randomBytes } from 'node:crypto';

/** A guest message with a verified shape. Its content is not trusted. */
export type GuestMessage =
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'result' | 'error'; readonly json: string }
  | { readonly kind: 'timer'; readonly id: number; readonly ms: number }
  | { readonly kind: 'clear'; readonly id: number }
  | {
      readonly kind: 'call';
      readonly call: number;
      readonly op: string;
      readonly head: string;
      readonly body: string | null;
    }
  /** A host call whose answer the guest waits for inside its entry. */
  | { readonly kind: 'sync'; readonly op: string; readonly head: string; readonly body: string | null }
  | { readonly kind: 'sleep'; readonly ms: number }
  /** The job's realm must not be used again. */
  | { readonly kind: 'taint' }
  | { readonly kind: 'random'; readonly bytes: number }
  /** Requests guest code that is not in the snapshot. */
  | { readonly kind: 'chunk'; readonly name: string }
  | { readonly kind: 'hash'; readonly algorithm: string; readonly key: string | null; readonly data: string };

const HASHES: Readonly<Record<string, string>> = {
  '1': 'sha1',
  '256': 'sha256',
  '384': 'sha384',
  '512': 'sha512',
};
const MAX_RANDOM_BYTES = 65_536;

function wholeNumber(text: string, max: number): number | null {
  return /^\d{1,15}$/.test(text) && Number(text) <= max ? Number(text) : null;
}

function readTimer(rest: string): GuestMessage | null {
  const match = /^(\d{1,15}):(\d+(?:\.\d+)?(?:e\+\d+)?|Infinity)$/.exec(rest);
  return match === null ? null : { kind: 'timer', id: Number(match[1]), ms: Number(match[2]) };
}

function readCall(rest: string): GuestMessage | null {
  const match = /^(\d{1,15}):([a-z]{1,20}):([+-])(\d{1,9}):/.exec(rest.slice(0, 64));
  if (match === null) return null;
  const start = match[0].length;
  const end = start + Number(match[4]);
  if (end > rest.length) return null;
  const body = match[3] === '+' ? rest.slice(end) : null;
  return { kind: 'call', call: Number(match[1]), op: match[2] as string, head: rest.slice(start, end), body };
}

function readSync(rest: string): GuestMessage | null {
  const message = readCall('0:' + rest);
  if (message?.kind !== 'call') return null;
  const { op, head, body } = message;
  return { kind: 'sync', op, head, body };
}

function readSleep(rest: string): GuestMessage | null {
  const message = readTimer('0:' + rest);
  return message?.kind === 'timer' ? { kind: 'sleep', ms: message.ms } : null;
}

function readHash(rest: string): GuestMessage | null {
  const match = /^(1|256|384|512):(?:-|\+(\d{1,9})):/.exec(rest.slice(0, 24));
  if (match === null) return null;
  const start = match[0].length;
  const end = start + Number(match[2] ?? 0);
  if (end > rest.length) return null;
  const key = match[2] === undefined ? null : rest.slice(start, end);
  return { kind: 'hash', algorithm: HASHES[match[1] as string] as string, key, data: rest.slice(end) };
}

function readId(rest: string): GuestMessage | null {
  const id = wholeNumber(rest, Number.MAX_SAFE_INTEGER);
  return id === null ? null : { kind: 'clear', id };
}

function readRandom(rest: string): GuestMessage | null {
  const bytes = wholeNumber(rest, MAX_RANDOM_BYTES);
  return bytes === null ? null : { kind: 'random', bytes };
}

const READERS: Readonly<Record<string, (rest: string) => GuestMessage | null>> = {
  L: (line) => ({ kind: 'log', line }),
  D: (json) => ({ kind: 'result', json }),
  E: (json) => ({ kind: 'error', json }),
  T: readTimer,
  X: readId,
  C: readCall,
  S: readSync,
  Z: readSleep,
  Q: (rest) => (rest === '' ? { kind: 'taint' } : null),
  R: readRandom,
  M: (name) => ({ kind: 'chunk', name }),
  H: readHash,
};

/** Returns the message in `text`, or null if it is malformed, which the caller treats as an attack. */
export function readMessage(text: unknown): GuestMessage | null {
  if (typeof text !== 'string') return null;
  const kind = text[0] ?? '';
  return Object.hasOwn(READERS, kind) ? (READERS[kind]?.(text.slice(1)) ?? null) : null;
}

/** Returns random bytes as a binary string. */
export function random(bytes: number): string {
  return randomBytes(bytes).toString('latin1');
}

/** Returns the digest (or with a key the HMAC) of a binary string, as a binary string. */
export function hash(message: GuestMessage & { kind: 'hash' }): string {
  const hasher =
    message.key === null
      ? createHash(message.algorithm)
      : createHmac(message.algorithm, Buffer.from(message.key, 'latin1'));
  return hasher.update(message.data, 'latin1').digest().toString('latin1');
}
