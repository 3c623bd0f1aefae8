import { send } from '../channel.ts';
import { bytesOf, fromBinary, toBinary } from './bytes.ts';

const HASH_IDS: Readonly<Record<string, string>> = {
  'SHA-1': '1',
  'SHA-256': '256',
  'SHA-384': '384',
  'SHA-512': '512',
};
const BLOCK_BYTES: Readonly<Record<string, number>> = { '1': 64, '256': 64, '384': 128, '512': 128 };

interface Algorithm {
  readonly name: string;
  readonly hash?: unknown;
}

type ImportArgs = [
  format: string,
  data: unknown,
  algorithm: Algorithm,
  extractable: boolean,
  usages: readonly string[],
];

const nameOf = (algorithm: unknown): string =>
  String(typeof algorithm === 'string' ? algorithm : (algorithm as Algorithm).name).toUpperCase();

function hashIdOf(algorithm: unknown): string {
  const id = HASH_IDS[nameOf(algorithm)];
  if (id === undefined)
    throw new DOMException(
      `${nameOf(algorithm)} is not supported; use SHA-1, SHA-256, SHA-384 or SHA-512`,
      'NotSupportedError',
    );
  return id;
}

/** Returns the digest of the data, or with a key its HMAC. `id` is a value of HASH_IDS. */
function hash(id: string, key: string | undefined, data: Uint8Array): ArrayBuffer {
  const digest = send(
    'H' + id + ':' + (key === undefined ? '-' : '+' + key.length) + ':' + (key ?? '') + toBinary(data),
  );
  return fromBinary(String(digest)).buffer;
}

function getRandomValues<T extends ArrayBufferView>(view: T): T {
  const bytes = bytesOf(view, 'The argument of getRandomValues()');
  if (bytes.length > 65_536)
    throw new DOMException('getRandomValues() returns at most 65536 bytes', 'QuotaExceededError');
  bytes.set(fromBinary(String(send('R' + bytes.length))));
  return view;
}

function randomUUID(): string {
  const bytes = getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** An HMAC key. Its bytes are available only through exportKey(). */
class CryptoKey {
  readonly type = 'secret';
  readonly extractable: boolean;
  readonly usages: readonly string[];
  readonly algorithm: {
    readonly name: 'HMAC';
    readonly hash: { readonly name: string };
    readonly length: number;
  };
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, hashName: string, extractable: boolean, usages: readonly string[]) {
    this.#bytes = bytes;
    this.extractable = extractable;
    this.usages = [...usages];
    this.algorithm = { name: 'HMAC', hash: { name: hashName }, length: bytes.length * 8 };
  }

  static bytes(key: CryptoKey): Uint8Array {
    return key.#bytes;
  }
}

const keyBytes = CryptoKey.bytes;
delete (CryptoKey as { bytes?: unknown }).bytes;

function requireHmac(algorithm: unknown): void {
  if (nameOf(algorithm) !== 'HMAC')
    throw new DOMException(
      `${nameOf(algorithm)} is not supported; crypto.subtle supports digest and HMAC`,
      'NotSupportedError',
    );
}

function computeHmac(key: CryptoKey, usage: string, data: unknown): Uint8Array {
  if (!key.usages.includes(usage))
    throw new DOMException(`The key does not have the usage "${usage}"`, 'InvalidAccessError');
  return new Uint8Array(
    hash(hashIdOf(key.algorithm.hash), toBinary(keyBytes(key)), bytesOf(data, 'The data')),
  );
}

const subtle = {
  async digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
    return hash(hashIdOf(algorithm), undefined, bytesOf(data, 'The data'));
  },

  async importKey(...[format, data, algorithm, extractable, usages]: ImportArgs): Promise<CryptoKey> {
    requireHmac(algorithm);
    if (format !== 'raw')
      throw new DOMException('Only keys in the format "raw" can be imported', 'NotSupportedError');
    const hashName = nameOf(algorithm.hash);
    hashIdOf(hashName);
    return new CryptoKey(bytesOf(data, 'The key').slice(), hashName, extractable, usages);
  },

  async generateKey(
    algorithm: Algorithm,
    extractable: boolean,
    usages: readonly string[],
  ): Promise<CryptoKey> {
    requireHmac(algorithm);
    const bytes = getRandomValues(new Uint8Array(BLOCK_BYTES[hashIdOf(algorithm.hash)] as number));
    return new CryptoKey(bytes, nameOf(algorithm.hash), extractable, usages);
  },

  async exportKey(format: string, key: CryptoKey): Promise<ArrayBuffer> {
    if (format !== 'raw' || !key.extractable)
      throw new DOMException(
        'Only extractable keys can be exported, in the format "raw"',
        'InvalidAccessError',
      );
    return keyBytes(key).slice().buffer as ArrayBuffer;
  },

  async sign(algorithm: unknown, key: CryptoKey, data: unknown): Promise<ArrayBuffer> {
    requireHmac(algorithm);
    return computeHmac(key, 'sign', data).buffer as ArrayBuffer;
  },

  async verify(algorithm: unknown, key: CryptoKey, signature: unknown, data: unknown): Promise<boolean> {
    requireHmac(algorithm);
    const receivedSignature = bytesOf(signature, 'The signature');
    const expectedSignature = computeHmac(key, 'verify', data);
    let difference = receivedSignature.length ^ expectedSignature.length;
    // Takes the same time wherever the first difference is.
    for (let i = 0; i < expectedSignature.length; i++)
      difference |= (expectedSignature[i] as number) ^ (receivedSignature[i] ?? 0);
    return difference === 0;
  },
};

export const crypto = { getRandomValues, randomUUID, subtle };
