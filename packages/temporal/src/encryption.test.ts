import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { expect, it, vi } from 'vitest';
import { dataConverterOf } from './encryption.ts';
import type { Encryption, OnDecryptError } from './encryption.ts';

const [k1, k2] = [randomBytes(32), randomBytes(32)];
const secret = { input: 'a letter to Ada' };

function codecOf(encryption: Encryption | undefined, onDecryptError?: OnDecryptError) {
  const [codec] = dataConverterOf(encryption, onDecryptError).payloadCodecs ?? [];
  if (!codec) throw new Error('no codec');
  return codec;
}

async function encrypt(encryption: Encryption): Promise<Payload> {
  const [payload] = await codecOf(encryption).encode([defaultPayloadConverter.toPayload(secret) as Payload]);
  return payload as Payload;
}

const toLatin1Text = ({ data, metadata }: Payload): string =>
  [data, ...Object.values(metadata ?? {})].map((bytes) => Buffer.from(bytes ?? []).toString('latin1')).join();

async function decrypt(encryption: Encryption | undefined, payload: Payload): Promise<unknown> {
  const [decryptedPayload] = await codecOf(encryption).decode([payload]);
  return defaultPayloadConverter.fromPayload(decryptedPayload as Payload);
}

it('an encrypted payload shows only its key id, and decrypts to the original', async () => {
  const encryption = { keyId: 'k1', keys: { k1 } };
  const payload = await encrypt(encryption);
  expect(toLatin1Text(payload)).toContain('k1');
  expect(toLatin1Text(payload)).not.toMatch(/Ada|json|input/);
  expect(await decrypt(encryption, payload)).toEqual(secret);
});

it('the same value encrypts to different bytes each time', async () => {
  const encryption = { keyId: 'k1', keys: { k1 } };
  expect(toLatin1Text(await encrypt(encryption))).not.toBe(toLatin1Text(await encrypt(encryption)));
});

it('after a key rotation, payloads of an older key and unencrypted payloads are still readable', async () => {
  const oldPayload = await encrypt({ keyId: 'k1', keys: { k1 } });
  const bothKeys = { keyId: 'k2', keys: { k1, k2 } };
  expect(await decrypt(bothKeys, oldPayload)).toEqual(secret);
  expect(toLatin1Text(await encrypt(bothKeys))).toContain('k2');
  expect(await decrypt(bothKeys, defaultPayloadConverter.toPayload(secret) as Payload)).toEqual(secret);
});

it.each([
  ['no keys at all', undefined, /encrypted with the key "k1", and this process has no keys/],
  [
    'only other keys',
    { keyId: 'k2', keys: { k2 } },
    /encrypted with the key "k1", and this process has only "k2"/,
  ],
  ['a different key of the same name', { keyId: 'k1', keys: { k1: k2 } }, /a different key of that name/],
])('decoding with %s fails and reports the run', async (_, encryption, message) => {
  const payload = await encrypt({ keyId: 'k1', keys: { k1 } });
  const onDecryptError = vi.fn<OnDecryptError>();
  const codec = codecOf(encryption, onDecryptError);
  const context = { type: 'workflow', namespace: 'default', workflowId: 'run-1' } as const;
  await expect(codec.decode([payload], context)).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringMatching(message) as string,
  });
  expect(onDecryptError.mock.calls).toEqual([
    [expect.objectContaining({ code: 'OPTIONS_INVALID' }), 'run-1'],
  ]);
});

it('a modified payload is rejected', async () => {
  const encryption = { keyId: 'k1', keys: { k1 } };
  const payload = await encrypt(encryption);
  const data = Buffer.from(payload.data ?? []);
  data[20] = (data[20] as number) ^ 1;
  await expect(decrypt(encryption, { ...payload, data })).rejects.toThrow(/a different key/);
});

it.each([
  ['of the wrong length', { keyId: 'k1', keys: { k1: randomBytes(16) } }, /"k1" has 16 bytes/],
  ['that are missing', { keyId: 'k3', keys: { k1 } }, /no key "k3"/],
])('keys %s are rejected', (_, encryption, message) => {
  expect(() => dataConverterOf(encryption)).toThrow(message);
});
