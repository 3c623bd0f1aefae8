import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../../../../test/support/data-folder.ts';
import { mocksOf } from './mocks.ts';

function fileOf(value: unknown): string {
  const file = join(dataFolder(), 'mocks.json');
  writeFileSync(file, JSON.stringify(value));
  return file;
}

describe('mocks', () => {
  it('are none when none are given', async () => {
    expect(await mocksOf({ mock: [], mocks: [] })).toBeUndefined();
  });

  it('come from files, later ones winning name by name, and single ones over them', async () => {
    const first = fileOf({
      blocks: { A: { n: 1 } },
      types: { slack: { ok: false }, agent: { content: 'a' } },
    });
    const second = fileOf({ types: { agent: [{ content: 'b' }] } });
    expect(await mocksOf({ mocks: [first, second], mock: ['slack={"ok": true}'] })).toEqual({
      blocks: { A: { n: 1 } },
      types: { slack: { ok: true }, agent: [{ content: 'b' }] },
    });
  });

  it('are split at the first sign, so that their JSON may hold others', async () => {
    expect(await mocksOf({ mocks: [], mock: ['api={"url": "a=b"}'] })).toMatchObject({
      types: { api: { url: 'a=b' } },
    });
  });

  it.each([
    ['agent', /names no block type/],
    ['={"a": 1}', /names no block type/],
    ['agent=hello', /The mock of "agent" is not JSON/],
  ])('like %s are refused', async (pair, message) => {
    await expect(mocksOf({ mocks: [], mock: [pair] })).rejects.toThrow(message);
  });

  it.each([[[]], [{ agent: {} }], ['text']])('in a file of another shape are refused: %j', async (value) => {
    await expect(mocksOf({ mocks: [fileOf(value)], mock: [] })).rejects.toThrow(/are not understood/);
  });
});
