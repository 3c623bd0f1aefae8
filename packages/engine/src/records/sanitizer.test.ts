import { describe, expect, it } from 'vitest';
import { createRedactor } from '../secrets/redactor.ts';
import { MemoryValueStore } from '../store/memory.ts';
import { Fault } from './infrastructure-error.ts';
import { Keeper } from './sanitizer.ts';
import { Values } from './values.ts';

const store = new MemoryValueStore();
const keeper = new Keeper(new Values(store), createRedactor({ KEY: 'very-secret' }));

describe('a keeper', () => {
  it('keeps small values inline and large ones in the value store, which gives them back', async () => {
    expect(keeper.keep({ n: 1 }, 'It')).toEqual({ v: { n: 1 } });
    const large = { text: 'x'.repeat(8181) };
    expect(keeper.keep(large, 'It')).toEqual({ v: large });
    const kept = await keeper.keep({ text: 'x'.repeat(8182) }, 'It');
    expect(kept).toMatchObject({ ref: { bytes: 8193 } });
    expect(await new Values(store).load(kept)).toEqual({ text: 'x'.repeat(8182) });
  });

  it('counts bytes, not characters', async () => {
    expect(await keeper.keep('ä'.repeat(4095), 'It')).toHaveProperty('v');
    expect(await keeper.keep('ä'.repeat(4096), 'It')).toHaveProperty('ref');
  });

  it('keeps no secret, wherever it stands', async () => {
    expect(await keeper.keep({ 'very-secret': ['a very-secret b'] }, 'It')).toEqual({
      v: { '«redacted:KEY»': ['a «redacted:KEY» b'] },
    });
    const large = await keeper.keep(`very-secret ${'x'.repeat(9000)}`, 'It');
    expect(await new Values(store).load(large)).toMatch(/^«redacted:KEY» x/);
  });

  it('calls what the store says a fault, and tells callers the cause', async () => {
    const full = new Error('full');
    const refusing = new Keeper(
      new Values({ put: () => Promise.reject(full), get: () => undefined, prune: () => undefined }),
      createRedactor({}),
    );
    const large = 'x'.repeat(9000);
    await expect(async () => refusing.keep(large, 'It')).rejects.toBeInstanceOf(Fault);
    await expect(refusing.keepAll({ large }, 'It')).rejects.toBe(full);
  });
});

it('a value that is gone is told with its key', async () => {
  const values = new Values(new MemoryValueStore());
  await expect(values.load({ ref: { key: 'sha256:gone', bytes: 1 } })).rejects.toMatchObject({
    code: 'VALUE_MISSING',
    message: expect.stringContaining('sha256:gone') as string,
  });
});
