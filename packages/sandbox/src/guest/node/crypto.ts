/** Functions of the host. The bundle of an image receives them when it is loaded, and keeps them. */
interface ImageHost {
  hash(algorithm: string, key: string | null, data: string): unknown;
  random(byteCount: number): unknown;
}

/** A parameter of the function that wraps a bundle. */
declare const __heddleImage: ImageHost;

const host = __heddleImage;

type Data = string | Uint8Array;

const HASH_IDS: Readonly<Record<string, string>> = {
  sha1: '1',
  sha256: '256',
  sha384: '384',
  sha512: '512',
};

function hashIdOf(algorithm: string): string {
  const id = HASH_IDS[algorithm.toLowerCase().replace('-', '')];
  if (id === undefined)
    throw new Error(
      `Digest method ${algorithm} is not supported in the sandbox; use sha1, sha256, sha384 or sha512`,
    );
  return id;
}

const toBinary = (data: Data, encoding?: BufferEncoding): string =>
  (typeof data === 'string' ? Buffer.from(data, encoding) : Buffer.from(data)).toString('latin1');

/** A hash or HMAC with Node.js's interface, computed by the host. */
class Hash {
  readonly #id: string;
  readonly #key: string | null;
  #data = '';

  constructor(id: string, key: string | null) {
    this.#id = id;
    this.#key = key;
  }

  update(data: Data, encoding?: BufferEncoding): this {
    this.#data += toBinary(data, encoding);
    return this;
  }

  digest(encoding?: BufferEncoding): Buffer | string {
    const digest = Buffer.from(String(host.hash(this.#id, this.#key, this.#data)), 'latin1');
    return encoding === undefined ? digest : digest.toString(encoding);
  }
}

export const createHash = (algorithm: string): Hash => new Hash(hashIdOf(algorithm), null);
export const createHmac = (algorithm: string, key: Data): Hash =>
  new Hash(hashIdOf(algorithm), toBinary(key));
export const getHashes = (): string[] => Object.keys(HASH_IDS);

export function randomBytes(
  size: number,
  callback?: (error: null, bytes: Buffer) => void,
): Buffer | undefined {
  const bytes = Buffer.alloc(size);
  for (let offset = 0; offset < size; offset += 65_536)
    crypto.getRandomValues(bytes.subarray(offset, offset + 65_536));
  if (callback === undefined) return bytes;
  queueMicrotask(() => callback(null, bytes));
  return undefined;
}

export function randomFillSync<T extends ArrayBufferView>(view: T): T {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (let offset = 0; offset < bytes.length; offset += 65_536)
    crypto.getRandomValues(bytes.subarray(offset, offset + 65_536));
  return view;
}

export function randomInt(from: number, to?: number): number {
  const [min, end] = to === undefined ? [0, from] : [from, to];
  const range = end - min;
  const values = new Uint32Array(2);
  // Takes 53 random bits. Rejects values that would make small numbers more likely.
  for (;;) {
    crypto.getRandomValues(values);
    const candidate = ((values[0] as number) & 0x1fffff) * 2 ** 32 + (values[1] as number);
    if (candidate < 2 ** 53 - (2 ** 53 % range)) return min + (candidate % range);
  }
}

export function timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) throw new RangeError('Input buffers must have the same byte length');
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= (a[i] as number) ^ (b[i] as number);
  return difference === 0;
}

export const randomUUID = (): string => crypto.randomUUID();
export const getRandomValues = <T extends ArrayBufferView>(view: T): T =>
  crypto.getRandomValues(view as never) as T;

/** The web's crypto, created at its first use. */
export const lazyProperties = {
  get webcrypto(): unknown {
    return crypto;
  },
  get subtle(): unknown {
    return crypto.subtle;
  },
};
