import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { createRunHeader, createRunRecord, createStartedEntry } from '../../../../test/support/run-data.ts';
import { openStores } from './open.ts';
import { makeDataFolderPrivate } from './private-files.ts';

const isRoot = process.geteuid?.() === 0;
const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

/** Returns the files and folders with permissions other than 600 and 700. */
function accessiblePaths(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const path = join(folder, name);
    const expected = statSync(path).isDirectory() ? '700' : '600';
    return modeOf(path) === expected ? [] : [`${name} ${modeOf(path)}`];
  });
}

/** `mask`: an octal number. */
function setUmask(mask: string): void {
  const previousMask = process.umask(mask);
  onTestFinished(() => void process.umask(previousMask));
}

/** Opens a data folder that contains a run and a large value. */
async function openWithRun(dataFolder: string, reportedMessages: string[] = []) {
  const stores = openStores({
    data: dataFolder,
    onError: (error) => void reportedMessages.push((error as Error).message),
  });
  onTestFinished(() => stores.close());
  await stores.values.put(JSON.stringify('x'.repeat(300_000)));
  await stores.runs.create(createRunHeader('r'), createStartedEntry(), createRunRecord('r'));
  return stores;
}

describe.skipIf(process.platform === 'win32')('the data folder', () => {
  it.each(['000', '022', '077'])('is private, with all its files, for the umask %s', async (mask) => {
    const dataFolder = join(createDataFolder(), 'of', 'runs');
    setUmask(mask);
    await openWithRun(dataFolder);
    expect(readdirSync(dataFolder)).toEqual(
      expect.arrayContaining([
        'heddle.db',
        'heddle.db-shm',
        'heddle.db-wal',
        'lock.db',
        'owner.json',
        'values',
      ]),
    );
    expect(modeOf(dataFolder)).toBe('700');
    expect(accessiblePaths(dataFolder)).toEqual([]);
  });

  it('becomes private, with its files, when it is opened again', async () => {
    const dataFolder = createDataFolder();
    (await openWithRun(dataFolder)).close();
    mkdirSync(join(dataFolder, 'temporal'));
    writeFileSync(join(dataFolder, 'temporal', 'server.log'), '');
    writeFileSync(join(dataFolder, 'api.db'), '');
    for (const name of readdirSync(dataFolder, { recursive: true, encoding: 'utf8' })) {
      const path = join(dataFolder, name);
      chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
    }
    chmodSync(dataFolder, 0o755);
    const reportedMessages: string[] = [];
    await openWithRun(dataFolder, reportedMessages);
    expect(modeOf(dataFolder)).toBe('700');
    expect(accessiblePaths(dataFolder)).toEqual([]);
    expect(reportedMessages).toEqual([]);
  });

  it('keeps its permissions, with a warning, if it contains foreign files; its own files become private', async () => {
    const dataFolder = createDataFolder();
    writeFileSync(join(dataFolder, 'notes.txt'), '', { mode: 0o644 });
    chmodSync(dataFolder, 0o755);
    const reportedMessages: string[] = [];
    await openWithRun(dataFolder, reportedMessages);
    expect(modeOf(dataFolder)).toBe('755');
    expect(accessiblePaths(dataFolder)).toEqual([expect.stringMatching(/^notes\.txt 6/)]);
    expect(reportedMessages).toEqual([expect.stringMatching(/stays accessible .*0755.*"notes.txt"/)]);
  });

  it.runIf(isRoot)('can be traversed, but not read, by other users if it has images for them', () => {
    const dataFolder = createDataFolder();
    mkdirSync(join(dataFolder, 'images'), { mode: 0o755 });
    const onError = (error: Error): void => expect.fail(error.message);
    makeDataFolderPrivate(dataFolder, onError);
    expect(modeOf(dataFolder)).toBe('711');
    expect(modeOf(join(dataFolder, 'images'))).toBe('755');
  });

  it.runIf(isRoot)('cannot be locked or read by another user, who could stop the engine', async () => {
    const dataFolder = createDataFolder();
    (await openWithRun(dataFolder)).close();
    const runAsOtherUser = (command: string): number | null =>
      spawnSync('/bin/sh', ['-c', command, dataFolder], { uid: 65_534, gid: 65_534, cwd: '/' }).status;
    chmodSync(dataFolder, 0o755);
    chmodSync(join(dataFolder, 'lock.db'), 0o644);
    expect(runAsOtherUser('exec 3<"$0/lock.db"')).toBe(0);
    const stores = await openWithRun(dataFolder);
    expect(runAsOtherUser('exec 3<"$0/lock.db"')).not.toBe(0);
    expect(runAsOtherUser('cat "$0/heddle.db-wal"')).not.toBe(0);
    expect(runAsOtherUser('ls "$0"')).not.toBe(0);
    expect(readFileSync(join(dataFolder, 'owner.json'), 'utf8')).toContain(String(process.pid));
    stores.close();
  });
});
