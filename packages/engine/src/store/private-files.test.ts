import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { newRun, record, startedEntry } from '../../../../test/support/run-data.ts';
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
async function openWithRun(data: string, reported: string[] = []) {
  const stores = openStores({ data, onError: (error) => void reported.push((error as Error).message) });
  onTestFinished(() => stores.close());
  await stores.values.put(JSON.stringify('x'.repeat(300_000)));
  await stores.runs.create(newRun('r'), startedEntry(), record('r'));
  return stores;
}

describe.skipIf(process.platform === 'win32')('the data folder', () => {
  it.each(['000', '022', '077'])('is private, with all its files, for the umask %s', async (mask) => {
    const data = join(createDataFolder(), 'of', 'runs');
    setUmask(mask);
    await openWithRun(data);
    expect(readdirSync(data)).toEqual(
      expect.arrayContaining([
        'heddle.db',
        'heddle.db-shm',
        'heddle.db-wal',
        'lock.db',
        'owner.json',
        'values',
      ]),
    );
    expect(modeOf(data)).toBe('700');
    expect(accessiblePaths(data)).toEqual([]);
  });

  it('becomes private, with its files, when it is opened again', async () => {
    const data = createDataFolder();
    (await openWithRun(data)).close();
    mkdirSync(join(data, 'temporal'));
    writeFileSync(join(data, 'temporal', 'server.log'), '');
    writeFileSync(join(data, 'api.db'), '');
    for (const name of readdirSync(data, { recursive: true, encoding: 'utf8' })) {
      const path = join(data, name);
      chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
    }
    chmodSync(data, 0o755);
    const reportedMessages: string[] = [];
    await openWithRun(data, reportedMessages);
    expect(modeOf(data)).toBe('700');
    expect(accessiblePaths(data)).toEqual([]);
    expect(reportedMessages).toEqual([]);
  });

  it('keeps its permissions, with a warning, if it contains foreign files; its own files become private', async () => {
    const data = createDataFolder();
    writeFileSync(join(data, 'notes.txt'), '', { mode: 0o644 });
    chmodSync(data, 0o755);
    const reportedMessages: string[] = [];
    await openWithRun(data, reportedMessages);
    expect(modeOf(data)).toBe('755');
    expect(accessiblePaths(data)).toEqual([expect.stringMatching(/^notes\.txt 6/)]);
    expect(reportedMessages).toEqual([expect.stringMatching(/stays accessible .*0755.*"notes.txt"/)]);
  });

  it.runIf(isRoot)('can be traversed, but not read, by other users if it has images for them', () => {
    const data = createDataFolder();
    mkdirSync(join(data, 'images'), { mode: 0o755 });
    const onError = (error: Error): void => expect.fail(error.message);
    makeDataFolderPrivate(data, onError);
    expect(modeOf(data)).toBe('711');
    expect(modeOf(join(data, 'images'))).toBe('755');
  });

  it.runIf(isRoot)('cannot be locked or read by another user, who could stop the engine', async () => {
    const data = createDataFolder();
    (await openWithRun(data)).close();
    const runAsOtherUser = (command: string): number | null =>
      spawnSync('/bin/sh', ['-c', command, data], { uid: 65_534, gid: 65_534, cwd: '/' }).status;
    chmodSync(data, 0o755);
    chmodSync(join(data, 'lock.db'), 0o644);
    expect(runAsOtherUser('exec 3<"$0/lock.db"')).toBe(0);
    const stores = await openWithRun(data);
    expect(runAsOtherUser('exec 3<"$0/lock.db"')).not.toBe(0);
    expect(runAsOtherUser('cat "$0/heddle.db-wal"')).not.toBe(0);
    expect(runAsOtherUser('ls "$0"')).not.toBe(0);
    expect(readFileSync(join(data, 'owner.json'), 'utf8')).toContain(String(process.pid));
    stores.close();
  });
});
