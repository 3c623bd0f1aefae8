import { existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../../test/support/data-folder.ts';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import { openStores } from '../open.ts';
import type { Durability, Stores } from '../stores.ts';

const LARGE_VALUE = JSON.stringify('ä'.repeat(200_000));

function open(dataFolder: string, durability: Durability = 'process'): Stores {
  const stores = openStores({ data: dataFolder, durability });
  onTestFinished(() => stores.close());
  return stores;
}

function filePath(dataFolder: string, key: string): string {
  const hash = key.slice('sha256:'.length);
  return join(dataFolder, 'values', hash.slice(0, 2), hash);
}

it.each(['process', 'power'] as const)(
  'writes a large value as a file named by its hash (%s)',
  async (durability) => {
    const dataFolder = createDataFolder();
    const key = await open(dataFolder, durability).values.put(LARGE_VALUE);
    expect(statSync(filePath(dataFolder, key)).size).toBe(Buffer.byteLength(LARGE_VALUE));
    expect(readdirSync(join(dataFolder, 'values', 'unfinished'))).toEqual([]);
  },
);

it('writes no file for a value of up to 256 KiB', async () => {
  const dataFolder = createDataFolder();
  await open(dataFolder).values.put(JSON.stringify('x'.repeat(256 * 1024 - 2)));
  expect(existsSync(join(dataFolder, 'values'))).toBe(false);
});

it('returns stored values after it was closed and opened again', async () => {
  const dataFolder = createDataFolder();
  const firstStores = open(dataFolder);
  const keys = [await firstStores.values.put('"small"'), await firstStores.values.put(LARGE_VALUE)];
  firstStores.close();
  const { values } = open(dataFolder);
  expect(await Promise.all(keys.map(async (key) => values.get(key)))).toEqual(['"small"', LARGE_VALUE]);
});

it('throws VALUE_MISSING with the path and the reason if the file is missing', async () => {
  const dataFolder = createDataFolder();
  const { values } = open(dataFolder);
  const key = await values.put(LARGE_VALUE);
  rmSync(filePath(dataFolder, key));
  await expect((async () => values.get(key))()).rejects.toMatchObject({
    code: 'VALUE_MISSING',
    message: expect.stringMatching(/file ".*values.*" is gone\. Restore/) as string,
  });
});

it('throws VALUE_MISSING if the file is truncated', async () => {
  const dataFolder = createDataFolder();
  const { values } = open(dataFolder);
  const key = await values.put(LARGE_VALUE);
  truncateSync(filePath(dataFolder, key), 1000);
  await expect((async () => values.get(key))()).rejects.toMatchObject({
    code: 'VALUE_MISSING',
    message: expect.stringContaining('1000 bytes instead of 400002') as string,
  });
});

it('writes a missing or corrupt file again when the value is stored again', async () => {
  const dataFolder = createDataFolder();
  const { values } = open(dataFolder);
  const key = await values.put(LARGE_VALUE);
  for (const damageFile of [rmSync, truncateSync]) {
    damageFile(filePath(dataFolder, key));
    expect(await values.put(LARGE_VALUE)).toBe(key);
    expect(await values.get(key)).toBe(LARGE_VALUE);
  }
});

it('throws DATA_UNWRITABLE if the file cannot be written', async () => {
  const dataFolder = createDataFolder();
  const { values } = open(dataFolder);
  writeFileSync(join(dataFolder, 'values'), 'a file where the folder should be');
  await expect((async () => values.put(LARGE_VALUE))()).rejects.toMatchObject({ code: 'DATA_UNWRITABLE' });
  rmSync(join(dataFolder, 'values'));
  expect(await values.get(await values.put(LARGE_VALUE))).toBe(LARGE_VALUE);
});

it('removes unfinished files of dead processes', async () => {
  const dataFolder = createDataFolder();
  const firstStores = open(dataFolder);
  await firstStores.values.put(LARGE_VALUE);
  firstStores.close();
  writeFileSync(join(dataFolder, 'values', 'unfinished', 'half'), 'x');
  open(dataFolder);
  expect(existsSync(join(dataFolder, 'values', 'unfinished'))).toBe(false);
});

it('does not prune a value that was put again recently, or is put again at the same time', async () => {
  const clock = new TestClock(1_000_000);
  const dataFolder = createDataFolder();
  const { values } = openStores({ data: dataFolder, clock });
  const keys = [await values.put('"small"'), await values.put(LARGE_VALUE)];
  clock.advance(3_600_000);
  for (const json of ['"small"', LARGE_VALUE]) await values.put(json);
  clock.advance(1_800_000);
  await values.prune(keys, 3_600_000);
  expect(await Promise.all(keys.map(async (key) => values.get(key)))).toEqual(['"small"', LARGE_VALUE]);
  clock.advance(1_800_000);
  const secondPut = values.put(LARGE_VALUE);
  await values.prune(keys, 3_600_000);
  await secondPut;
  expect(await Promise.all(keys.map(async (key) => values.get(key)))).toEqual([undefined, LARGE_VALUE]);
});
