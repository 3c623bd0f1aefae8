import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { EngineError } from '@heddle/core';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';

/** Keys for what a server is given to keep; workers and clients of a deployment have the same. */
export interface Encryption {
  /** Id of the key that new data is encrypted with. It stands beside the data, in the open. */
  keyId: string;
  /** Keys of 32 bytes by id: the one of `keyId`, and those that older data is encrypted with. */
  keys: { [id: string]: Buffer };
}

/** Told of data that cannot be decrypted, with the run that it belongs to, where that is known. */
export type OnSealed = (error: EngineError, runId: string | undefined) => void;

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

/** As the codec servers of Temporal's own samples have it, so that its pages can show what is encrypted. */
const ENCODING = Buffer.from('binary/encrypted');
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Where workers find how failures are written when messages and stacks are encrypted too. */
const FAILURES = fileURLToPath(new URL(`./sealed-failures${import.meta.url.slice(-3)}`, import.meta.url));

/**
 * How data is written for a server: encrypted with `encryption`, or in the open. Encrypted data that there is no key
 * for is refused with OPTIONS_INVALID, also where there are no keys at all.
 *
 * Throws OPTIONS_INVALID for keys that cannot be used.
 */
export function dataConverterOf(encryption: Encryption | undefined, onSealed?: OnSealed): DataConverter {
  if (!encryption) return { payloadCodecs: [new PayloadSeal(undefined, onSealed)] };
  return { payloadCodecs: [new PayloadSeal(checked(encryption), onSealed)], failureConverterPath: FAILURES };
}

function checked(encryption: Encryption): Encryption {
  const { keyId, keys } = encryption;
  if (!Object.hasOwn(keys, keyId))
    throw new EngineError(
      'OPTIONS_INVALID',
      `The encryption has no key "${keyId}", which "keyId" names: give it in "keys".`,
    );
  for (const [id, key] of Object.entries(keys))
    if (key.length !== KEY_BYTES)
      throw new EngineError(
        'OPTIONS_INVALID',
        `The encryption key "${id}" has ${key.length} bytes: a key of AES-256 has ${KEY_BYTES}.`,
      );
  return encryption;
}

/** Encrypts what goes to the server with AES-256-GCM, and decrypts what comes from it. */
class PayloadSeal implements PayloadCodec {
  private readonly encryption: Encryption | undefined;
  private readonly onSealed: OnSealed | undefined;

  constructor(encryption: Encryption | undefined, onSealed: OnSealed | undefined) {
    this.encryption = encryption;
    this.onSealed = onSealed;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const { encryption } = this;
    return encryption ? payloads.map((payload) => seal(payload, encryption)) : payloads;
  }

  async decode(payloads: Payload[], context?: object): Promise<Payload[]> {
    try {
      return payloads.map((payload) =>
        isSealed(payload) ? unseal(payload, this.encryption?.keys) : payload,
      );
    } catch (error) {
      const { workflowId } = (context ?? {}) as { workflowId?: string };
      this.onSealed?.(error as EngineError, workflowId);
      throw error;
    }
  }
}

function isSealed({ metadata }: Payload): boolean {
  const encoding = metadata?.['encoding'];
  return encoding !== undefined && encoding !== null && ENCODING.equals(encoding);
}

function seal(payload: Payload, { keyId, keys }: Encryption): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keys[keyId] as Buffer, nonce);
  const text = cipher.update(PayloadMessage.encode(payload).finish());
  return {
    metadata: { encoding: ENCODING, 'encryption-key-id': Buffer.from(keyId) },
    data: Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]),
  };
}

function unseal({ metadata, data }: Payload, keys: Encryption['keys'] = {}): Payload {
  const keyId = Buffer.from(metadata?.['encryption-key-id'] ?? []).toString();
  const key = Object.hasOwn(keys, keyId) ? keys[keyId] : undefined;
  if (!key) throw noKey(keyId, Object.keys(keys));
  const sealed = Buffer.from(data ?? []);
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
    return PayloadMessage.decode(Buffer.concat([text, decipher.final()]));
  } catch (error) {
    throw new EngineError(
      'OPTIONS_INVALID',
      `What the Temporal server keeps is encrypted with the key "${keyId}", and the key of this name does not decrypt it. Give the key that it was encrypted with in "encryption.keys".`,
      { cause: error, details: { keyId } },
    );
  }
}

function noKey(keyId: string, known: string[]): EngineError {
  const has = known.length === 0 ? 'no keys' : `only ${known.map((id) => `"${id}"`).join(', ')}`;
  return new EngineError(
    'OPTIONS_INVALID',
    `What the Temporal server keeps is encrypted with the key "${keyId}", and this process has ${has}. Give the key in "encryption.keys".`,
    { details: { keyId } },
  );
}
