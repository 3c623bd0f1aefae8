import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { EngineError } from '@heddle/core';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';

/** Keys for payloads on the server. All workers and clients of a deployment use the same keys. */
export interface Encryption {
  /** Id of the key that encrypts new payloads. It is stored next to them, unencrypted. */
  keyId: string;
  /** 32-byte keys by id: the key that `keyId` names, and the keys of older payloads. */
  keys: { [id: string]: Buffer };
}

/** Called for a payload that cannot be decrypted, with its run if known. */
export type OnDecryptError = (error: EngineError, runId: string | undefined) => void;

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

/** The encoding of Temporal's sample codec servers, so that the Temporal UI can decrypt payloads. */
const ENCODING = Buffer.from('binary/encrypted');
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Module that the SDK loads to encode failures as encrypted payloads. */
const FAILURE_CONVERTER = fileURLToPath(
  new URL(`./encrypted-failures${import.meta.url.slice(-3)}`, import.meta.url),
);

/**
 * Returns a data converter that encrypts payloads if `encryption` is set. Decoding an encrypted payload
 * without its key throws OPTIONS_INVALID, even without `encryption`.
 *
 * Throws OPTIONS_INVALID for invalid keys.
 */
export function dataConverterOf(
  encryption: Encryption | undefined,
  onDecryptError?: OnDecryptError,
): DataConverter {
  if (!encryption) return { payloadCodecs: [new EncryptionCodec(undefined, onDecryptError)] };
  return {
    payloadCodecs: [new EncryptionCodec(validateEncryption(encryption), onDecryptError)],
    failureConverterPath: FAILURE_CONVERTER,
  };
}

function validateEncryption(encryption: Encryption): Encryption {
  const { keyId, keys } = encryption;
  if (!Object.hasOwn(keys, keyId))
    throw new EngineError(
      'OPTIONS_INVALID',
      `The encryption has no key "${keyId}", which "keyId" names. Add it to "keys".`,
    );
  for (const [id, key] of Object.entries(keys))
    if (key.length !== KEY_BYTES)
      throw new EngineError(
        'OPTIONS_INVALID',
        `The encryption key "${id}" has ${key.length} bytes; AES-256 needs ${KEY_BYTES}.`,
      );
  return encryption;
}

/** Encrypts payloads for the server with AES-256-GCM, and decrypts payloads from it. */
class EncryptionCodec implements PayloadCodec {
  readonly #encryption: Encryption | undefined;
  readonly #onDecryptError: OnDecryptError | undefined;

  constructor(encryption: Encryption | undefined, onDecryptError: OnDecryptError | undefined) {
    this.#encryption = encryption;
    this.#onDecryptError = onDecryptError;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const encryption = this.#encryption;
    return encryption ? payloads.map((payload) => encrypt(payload, encryption)) : payloads;
  }

  async decode(payloads: Payload[], context?: object): Promise<Payload[]> {
    try {
      return payloads.map((payload) =>
        isEncrypted(payload) ? decrypt(payload, this.#encryption?.keys) : payload,
      );
    } catch (error) {
      const { workflowId } = (context ?? {}) as { workflowId?: string };
      this.#onDecryptError?.(error as EngineError, workflowId);
      throw error;
    }
  }
}

function isEncrypted({ metadata }: Payload): boolean {
  const encoding = metadata?.['encoding'];
  return encoding !== undefined && encoding !== null && ENCODING.equals(encoding);
}

function encrypt(payload: Payload, { keyId, keys }: Encryption): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keys[keyId] as Buffer, nonce);
  const ciphertext = cipher.update(PayloadMessage.encode(payload).finish());
  return {
    metadata: { encoding: ENCODING, 'encryption-key-id': Buffer.from(keyId) },
    data: Buffer.concat([nonce, ciphertext, cipher.final(), cipher.getAuthTag()]),
  };
}

function decrypt({ metadata, data }: Payload, keys: Encryption['keys'] = {}): Payload {
  const keyId = Buffer.from(metadata?.['encryption-key-id'] ?? []).toString();
  const key = Object.hasOwn(keys, keyId) ? keys[keyId] : undefined;
  if (!key) throw missingKeyError(keyId, Object.keys(keys));
  const bytes = Buffer.from(data ?? []);
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const plaintext = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return PayloadMessage.decode(Buffer.concat([plaintext, decipher.final()]));
  } catch (error) {
    throw new EngineError(
      'OPTIONS_INVALID',
      `Data on the Temporal server is encrypted with the key "${keyId}", and this process has a different key of that name. Put the original key into "encryption.keys".`,
      { cause: error, details: { keyId } },
    );
  }
}

function missingKeyError(keyId: string, otherIds: string[]): EngineError {
  const keys = otherIds.length === 0 ? 'no keys' : `only ${otherIds.map((id) => `"${id}"`).join(', ')}`;
  return new EngineError(
    'OPTIONS_INVALID',
    `Data on the Temporal server is encrypted with the key "${keyId}", and this process has ${keys}. Add the key to "encryption.keys".`,
    { details: { keyId } },
  );
}
