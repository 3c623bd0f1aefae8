import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { readMocks } from './mocks.ts';

function writeMocks(value: unknown): string {
  const file = join(createDataFolder(), 'mocks.json');
  writeFileSync(file, JSON.stringify(value));
  return file;
}

describe('mocks', () => {
  it('are undefined without options', async () => {
    expect(await readMocks({ mock: [], mocks: [] })).toBeUndefined();
  });

  it('come from files and single options; later files and options take precedence', async () => {
    const first = writeMocks({
      blocks: { A: { n: 1 } },
      types: { slack: { ok: false }, agent: { content: 'a' } },
    });
    const second = writeMocks({ types: { agent: [{ content: 'b' }] } });
    expect(await readMocks({ mocks: [first, second], mock: ['slack={"ok": true}'] })).toEqual({
      blocks: { A: { n: 1 } },
      types: { slack: { ok: true }, agent: [{ content: 'b' }] },
    });
  });

  it('are split at the first =, so that the JSON may contain more', async () => {
    expect(await readMocks({ mocks: [], mock: ['api={"url": "a=b"}'] })).toMatchObject({
      types: { api: { url: 'a=b' } },
    });
  });

  it.each([
    ['agent', /has no block type/],
    ['={"a": 1}', /has no block type/],
    ['agent=hello', /The mock of "agent" is not JSON/],
  ])('like %s are rejected', async (pair, message) => {
    await expect(readMocks({ mocks: [], mock: [pair] })).rejects.toThrow(message);
  });

  it.each([[[]], [{ agent: {} }], ['text']])(
    'in a file with an invalid shape are rejected: %j',
    async (value) => {
      await expect(readMocks({ mocks: [writeMocks(value)], mock: [] })).rejects.toThrow(/Invalid mocks/);
    },
  );
});
