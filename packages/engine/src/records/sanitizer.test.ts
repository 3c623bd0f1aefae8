import { describe, expect, it } from 'vitest';
import { createRedactor } from '../secrets/redactor.ts';
import { MemoryValueStore } from '../store/memory.ts';
import { InfrastructureError } from './infrastructure-error.ts';
import { Sanitizer } from './sanitizer.ts';
import { Values } from './values.ts';

const store = new MemoryValueStore();
const sanitizer = new Sanitizer(new Values(store), createRedactor({ KEY: 'very-secret' }));

describe('Sanitizer', () => {
  it('stores small values inline and large ones in the value store', async () => {
    expect(sanitizer.store({ n: 1 }, 'It')).toEqual({ v: { n: 1 } });
    const largeValue = { text: 'x'.repeat(8181) };
    expect(sanitizer.store(largeValue, 'It')).toEqual({ v: largeValue });
    const storedValue = await sanitizer.store({ text: 'x'.repeat(8182) }, 'It');
    expect(storedValue).toMatchObject({ ref: { bytes: 8193 } });
    expect(await new Values(store).load(storedValue)).toEqual({ text: 'x'.repeat(8182) });
  });

  it('counts bytes, not characters', async () => {
    expect(await sanitizer.store('ä'.repeat(4095), 'It')).toHaveProperty('v');
    expect(await sanitizer.store('ä'.repeat(4096), 'It')).toHaveProperty('ref');
  });

  it('redacts secrets in keys, values and large texts', async () => {
    expect(await sanitizer.store({ 'very-secret': ['a very-secret b'] }, 'It')).toEqual({
      v: { '«redacted:KEY»': ['a «redacted:KEY» b'] },
    });
    const storedText = await sanitizer.store(`very-secret ${'x'.repeat(9000)}`, 'It');
    expect(await new Values(store).load(storedText)).toMatch(/^«redacted:KEY» x/);
  });

  it('wraps errors of the store in an InfrastructureError, but throws them unchanged to callers', async () => {
    const storeError = new Error('full');
    const failingSanitizer = new Sanitizer(
      new Values({ put: () => Promise.reject(storeError), get: () => undefined, prune: () => undefined }),
      createRedactor({}),
    );
    const largeText = 'x'.repeat(9000);
    await expect(async () => failingSanitizer.store(largeText, 'It')).rejects.toBeInstanceOf(
      InfrastructureError,
    );
    await expect(failingSanitizer.storeCallerValues({ large: largeText }, 'It')).rejects.toBe(storeError);
  });
});

it('a missing value is reported with its key', async () => {
  const values = new Values(new MemoryValueStore());
  await expect(values.load({ ref: { key: 'sha256:gone', bytes: 1 } })).rejects.toMatchObject({
    code: 'VALUE_MISSING',
    message: expect.stringContaining('sha256:gone') as string,
  });
});
