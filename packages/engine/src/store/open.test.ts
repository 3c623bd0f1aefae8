import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import {
  createEntry,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../../../../test/support/run-data.ts';
import { openStores } from './open.ts';
import type { StoreOptions } from './open.ts';
import { openDatabase } from './sqlite/database.ts';
import type { Stores } from './stores.ts';

function openTestStores(options: StoreOptions): Stores {
  const stores = openStores(options);
  onTestFinished(() => stores.close());
  return stores;
}

it('refuses a second owner, even in the same process; the error names the owner and the commands that still work', () => {
  const dataFolder = createDataFolder();
  openTestStores({ data: dataFolder });
  expect(() => openStores({ data: dataFolder })).toThrow(
    expect.objectContaining({
      code: 'DATA_LOCKED',
      message: expect.stringMatching(
        new RegExp(`locked by process ${process.pid} on .*listed, shown, followed, cancelled and resumed`),
      ) as string,
      details: expect.objectContaining({ pid: process.pid }) as unknown,
    }),
  );
});

it('releases the lock when the stores are closed, and when they cannot be opened', () => {
  const dataFolder = createDataFolder();
  openStores({ data: dataFolder }).close();
  expect(existsSync(join(dataFolder, 'owner.json'))).toBe(false);
  writeFileSync(
    join(dataFolder, 'owner.json'),
    '{"pid":1,"hostname":"elsewhere","startedAt":"2020-01-01T00:00:00.000Z"}',
  );
  const db = openDatabase(join(dataFolder, 'heddle.db'), { readOnly: false, durability: 'process' });
  db.exec('PRAGMA user_version = 99');
  expect(() => openStores({ data: dataFolder })).toThrow(/format 99/);
  db.exec('PRAGMA user_version = 7');
  db.close();
  openTestStores({ data: dataFolder });
  expect(JSON.parse(readFileSync(join(dataFolder, 'owner.json'), 'utf8'))).toMatchObject({
    pid: process.pid,
  });
});

it.each(['not JSON', '{"pid":999999999,"hostname":"%HOST%"}'])(
  'does not name a dead owner (%s)',
  async (text) => {
    const dataFolder = createDataFolder();
    openTestStores({ data: dataFolder });
    const { hostname } = await import('node:os');
    writeFileSync(join(dataFolder, 'owner.json'), text.replace('%HOST%', hostname()));
    expect(() => openStores({ data: dataFolder })).toThrow(/another process, which has just started/);
  },
);

it('refuses a data file of a newer format, for owners and readers', () => {
  const dataFolder = createDataFolder();
  openStores({ data: dataFolder }).close();
  const db = openDatabase(join(dataFolder, 'heddle.db'), { readOnly: false, durability: 'process' });
  db.exec('PRAGMA user_version = 99');
  db.close();
  for (const readOnly of [false, true]) {
    expect(() => openStores({ data: dataFolder, readOnly })).toThrow(
      expect.objectContaining({ code: 'DATA_FORMAT_UNSUPPORTED' }),
    );
  }
});

it('refuses a file that is not a database', () => {
  const dataFolder = createDataFolder();
  writeFileSync(join(dataFolder, 'heddle.db'), 'hello '.repeat(1000));
  for (const readOnly of [false, true]) {
    expect(() => openStores({ data: dataFolder, readOnly })).toThrow(
      /heddle\.db" is corrupt, or it is not a data file of Heddle/,
    );
  }
});

it('throws DATA_UNWRITABLE with the path if the folder cannot be created', () => {
  const file = join(createDataFolder(), 'file');
  writeFileSync(file, '');
  const unwritableError = { code: 'DATA_UNWRITABLE', message: expect.stringContaining(file) as string };
  expect(() => openStores({ data: file })).toThrow(expect.objectContaining(unwritableError));
  expect(() => openStores({ data: join(file, 'below') })).toThrow(expect.objectContaining(unwritableError));
});

it('throws DATA_UNWRITABLE with the path if the file cannot be opened', () => {
  const dataFolder = createDataFolder();
  mkdirSync(join(dataFolder, 'heddle.db'));
  expect(() => openStores({ data: dataFolder })).toThrow(
    expect.objectContaining({
      code: 'DATA_UNWRITABLE',
      message: expect.stringContaining('heddle.db') as string,
    }),
  );
});

it('reads a folder without data as empty, and creates nothing', () => {
  const dataFolder = join(createDataFolder(), 'none');
  expect(openTestStores({ data: dataFolder, readOnly: true }).runs.list({})).toEqual({
    runs: [],
    cursor: undefined,
  });
  expect(existsSync(dataFolder)).toBe(false);
});

it('shows each commit of the owner immediately to two readers, which cannot write', async () => {
  const dataFolder = createDataFolder();
  const ownerStores = openTestStores({ data: dataFolder });
  const readerStores = [
    openTestStores({ data: dataFolder, readOnly: true }),
    openTestStores({ data: dataFolder, readOnly: true }),
  ];
  await ownerStores.runs.create(createRunHeader('r'), createStartedEntry());
  for (let seq = 2; seq < 50; seq += 1) {
    await ownerStores.runs.append('r', [createEntry(seq)]);
    for (const { runs } of readerStores) expect(runs.tail('r', seq - 1)).toEqual([createEntry(seq)]);
  }
  await ownerStores.runs.saveRecord(createRunRecord('r', { status: 'completed' }), []);
  const largeValueKey = await ownerStores.values.put(JSON.stringify('x'.repeat(300_000)));
  for (const { runs, values } of readerStores) {
    expect(runs.list({ status: ['completed'] })).toMatchObject({ runs: [{ runId: 'r' }] });
    expect(runs.unfinishedRunIds()).toEqual([]);
    expect(await values.get(largeValueKey)).toHaveLength(300_002);
    await expect((async () => runs.append('r', [createEntry(99)]))()).rejects.toMatchObject({
      code: 'DATA_UNWRITABLE',
    });
  }
});
