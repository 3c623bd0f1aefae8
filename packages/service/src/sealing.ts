import { createCipheriv, createDecipheriv, createHash, randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unavailable } from '@heddle/api/areas';

/** A string encrypted with AES-256-GCM, as a row stores it. */
export interface SealedValue {
  /** Id of the key, for rotation. It reveals nothing about the key. */
  keyId: string;
  /** Nonce, ciphertext and authentication tag, in base64url. */
  sealed: string;
}

/** A key for sealing. */
export interface SealingKey {
  id: string;
  key: Buffer;
}

/** The keys of an installation. */
export interface SealingKeys {
  /** Returns the key that seals. Throws a SealingError if there is none. */
  currentKey(): SealingKey;
  /** Returns the key with this id; undefined if it is unknown. */
  find(id: string): SealingKey | undefined;
}

/** Keys that this module can replace. */
export interface RotatableKeys extends SealingKeys {
  /** Adds a key, which seals from now on. Keeps the previous key, and of the older keys only `usedKeyIds`. */
  rotate(usedKeyIds: ReadonlySet<string>): void;
}

/** Thrown when a value cannot be sealed or opened. The message contains no value and no key. */
export class SealingError extends Error {
  override readonly name = 'SealingError';
  readonly code: 'NO_KEY' | 'UNKNOWN_KEY' | 'NOT_AUTHENTIC';

  constructor(code: SealingError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ID_CHARS = 16;

/** Seals strings for the rows of a database. */
export class Sealer {
  readonly #keys: SealingKeys;

  constructor(keys: SealingKeys) {
    this.#keys = keys;
  }

  /** Returns the id of the key that seals. Throws a SealingError if there is none. */
  currentKeyId(): string {
    return this.#keys.currentKey().id;
  }

  /** Encrypts `text`. It can be opened only with the same `associatedData`: the kind of the row and its primary key. */
  seal(text: string, associatedData: readonly string[]): SealedValue {
    const { id, key } = this.#keys.currentKey();
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associatedDataBytes(id, associatedData));
    const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return { keyId: id, sealed: Buffer.concat(parts).toString('base64url') };
  }

  /**
   * Decrypts a value. Throws a SealingError UNKNOWN_KEY if its key is missing, and NOT_AUTHENTIC if it was changed or
   * belongs to another row.
   */
  open({ keyId, sealed }: SealedValue, associatedData: readonly string[]): string {
    const sealingKey = this.#keys.find(keyId);
    if (!sealingKey) {
      throw new SealingError(
        'UNKNOWN_KEY',
        `The key ${keyId} that sealed ${rowName(associatedData)} is missing.`,
      );
    }
    const bytes = Buffer.from(sealed, 'base64url');
    try {
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(CIPHER, sealingKey.key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(associatedDataBytes(keyId, associatedData));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      throw new SealingError(
        'NOT_AUTHENTIC',
        `${rowName(associatedData)} was changed in the database, or belongs to another row.`,
      );
    }
  }
}

/** Returns JSON, so that different associated data never has the same bytes. */
function associatedDataBytes(keyId: string, associatedData: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify([keyId, ...associatedData]));
}

function rowName(associatedData: readonly string[]): string {
  return JSON.stringify(associatedData.join(' '));
}

function parseKey(text: string, source: string): SealingKey {
  const trimmedText = text.trim();
  const key = Buffer.from(trimmedText, 'base64');
  if (key.length !== KEY_BYTES) {
    throw new SealingError(
      'NO_KEY',
      `${source} is not a key: a key is ${KEY_BYTES} random bytes in base64. Create one with: openssl rand -base64 32`,
    );
  }
  const hash = createHash('sha256').update('heddle sealing key').update(key).digest('hex');
  return { id: hash.slice(0, ID_CHARS), key };
}

/**
 * Returns the keys in the string, separated by commas. The first one seals; the others only open values. Throws
 * a SealingError NO_KEY if a part is not a key.
 */
export function parseKeys(text: string): SealingKeys {
  const keys = text.split(',').map((part, index) => parseKey(part, `Sealing key ${index + 1}`));
  const [firstKey] = keys as [SealingKey];
  return { currentKey: () => firstKey, find: (id) => keys.find((key) => key.id === id) };
}

/** Returns keys that throw a SealingError NO_KEY for every use. `message` says what to do. */
export function missingKeys(message: string): SealingKeys {
  return {
    currentKey() {
      throw new SealingError('NO_KEY', message);
    },
    find() {
      throw new SealingError('NO_KEY', message);
    },
  };
}

/** Throws 503 if there is no key to seal with. */
export function requireSealingKey(sealer: Sealer): void {
  try {
    sealer.currentKeyId();
  } catch (error) {
    if (error instanceof SealingError && error.code === 'NO_KEY') throw unavailable(NO_KEY_MESSAGE);
    throw error;
  }
}

const NO_KEY_MESSAGE = 'The server has no key to encrypt secrets with, so it cannot store them';

const KEY_FILE_PATTERN = /^(\d{6})\.key$/;

/**
 * The keys in a folder, one private file each; the highest number seals. `currentKey` creates the first key. Files are
 * read when they are needed, so that a process sees a rotation by another process.
 */
export class KeyFolder implements RotatableKeys {
  readonly #folder: string;
  readonly #keysById = new Map<string, SealingKey>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  currentKey(): SealingKey {
    const lastNumber = this.#numbers().at(-1);
    return this.#read(lastNumber ?? this.#create(1));
  }

  find(id: string): SealingKey | undefined {
    if (!this.#keysById.has(id)) for (const number of this.#numbers()) this.#read(number);
    return this.#keysById.get(id);
  }

  rotate(usedKeyIds: ReadonlySet<string>): void {
    const numbers = this.#numbers();
    const lastNumber = numbers.at(-1) ?? 0;
    // The current key is kept, because another process may be sealing with it now.
    for (const number of numbers.slice(0, -1))
      if (!usedKeyIds.has(this.#read(number).id)) rmSync(this.#file(number), { force: true });
    this.#create(lastNumber + 1);
  }

  #file(number: number): string {
    return join(this.#folder, `${String(number).padStart(6, '0')}.key`);
  }

  #numbers(): number[] {
    try {
      const numbers = readdirSync(this.#folder).flatMap((name) =>
        Number(KEY_FILE_PATTERN.exec(name)?.[1] ?? []),
      );
      return numbers.filter((number) => number > 0).sort((a, b) => a - b);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  #read(number: number): SealingKey {
    const file = this.#file(number);
    const key = parseKey(readFileSync(file, 'utf8'), `The file ${file}`);
    this.#keysById.set(key.id, key);
    return key;
  }

  /** Creates the file of the key with this number atomically. If another process has created it, that key is kept. */
  #create(number: number): number {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const temporaryFile = join(this.#folder, `${randomUUID()}.tmp`);
    writeFileSync(temporaryFile, randomBytes(KEY_BYTES).toString('base64'), {
      flag: 'wx',
      mode: 0o600,
      flush: true,
    });
    try {
      linkSync(temporaryFile, this.#file(number));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(temporaryFile, { force: true });
    }
    return number;
  }
}
