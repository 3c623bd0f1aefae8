import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { expect, it, vi } from 'vitest';
import { dataConverterOf } from './encryption.ts';
import type { Encryption, OnSealed } from './encryption.ts';

const [k1, k2] = [randomBytes(32), randomBytes(32)];
const secret = { input: 'a letter to Ada' };

function sealOf(encryption: Encryption | undefined, onSealed?: OnSealed) {
  const [codec] = dataConverterOf(encryption, onSealed).payloadCodecs ?? [];
  if (!codec) throw new Error('no codec');
  return codec;
}

async function sealed(encryption: Encryption): Promise<Payload> {
  const [payload] = await sealOf(encryption).encode([defaultPayloadConverter.toPayload(secret) as Payload]);
  return payload as Payload;
}

const text = ({ data, metadata }: Payload): string =>
  [data, ...Object.values(metadata ?? {})].map((bytes) => Buffer.from(bytes ?? []).toString('latin1')).join();

async function opened(encryption: Encryption | undefined, payload: Payload): Promise<unknown> {
  const [plain] = await sealOf(encryption).decode([payload]);
  return defaultPayloadConverter.fromPayload(plain as Payload);
}

it('what is encrypted shows its key’s id and nothing else, and comes back as it was', async () => {
  const encryption = { keyId: 'k1', keys: { k1 } };
  const payload = await sealed(encryption);
  expect(text(payload)).toContain('k1');
  expect(text(payload)).not.toMatch(/Ada|json|input/);
  expect(await opened(encryption, payload)).toEqual(secret);
});

it('the same value never looks the same twice', async () => {
  const encryption = { keyId: 'k1', keys: { k1 } };
  expect(text(await sealed(encryption))).not.toBe(text(await sealed(encryption)));
});

it('keys change: what an older key has encrypted is read as long as it is there, and so is what is in the open', async () => {
  const old = await sealed({ keyId: 'k1', keys: { k1 } });
  const both = { keyId: 'k2', keys: { k1, k2 } };
  expect(await opened(both, old)).toEqual(secret);
  expect(text(await sealed(both))).toContain('k2');
  expect(await opened(both, defaultPayloadConverter.toPayload(secret) as Payload)).toEqual(secret);
});

it.each([
  ['no keys at all', undefined, /encrypted with the key "k1", and this process has no keys/],
  [
    'only others',
    { keyId: 'k2', keys: { k2 } },
    /encrypted with the key "k1", and this process has only "k2"/,
  ],
  ['another key of this name', { keyId: 'k1', keys: { k1: k2 } }, /the key of this name does not decrypt it/],
])('a process that has %s is told so, with the run', async (_, encryption, message) => {
  const payload = await sealed({ keyId: 'k1', keys: { k1 } });
  const onSealed = vi.fn<OnSealed>();
  const codec = sealOf(encryption, onSealed);
  const context = { type: 'workflow', namespace: 'default', workflowId: 'run-1' } as const;
  await expect(codec.decode([payload], context)).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringMatching(message) as string,
  });
  expect(onSealed.mock.calls).toEqual([[expect.objectContaining({ code: 'OPTIONS_INVALID' }), 'run-1']]);
});

it('what was changed on its way is refused', async () => {
  const encryption = { keyId: 'k1', keys: { k1 } };
  const payload = await sealed(encryption);
  const data = Buffer.from(payload.data ?? []);
  data[20] = (data[20] as number) ^ 1;
  await expect(opened(encryption, { ...payload, data })).rejects.toThrow(/does not decrypt it/);
});

it.each([
  ['of a wrong length', { keyId: 'k1', keys: { k1: randomBytes(16) } }, /"k1" has 16 bytes/],
  ['that are not there', { keyId: 'k3', keys: { k1 } }, /no key "k3"/],
])('keys %s are refused', (_, encryption, message) => {
  expect(() => dataConverterOf(encryption)).toThrow(message);
});
