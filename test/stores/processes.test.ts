import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createEntry, createRunHeader, createStartedEntry } from '../support/run-data.ts';
import { isOwned } from '../../packages/engine/src/store/lock.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { CHILD_PROGRAM, startChild, startProgram } from './process.ts';
import { openTestStores } from './stores.ts';

describe('a data folder that several processes open', () => {
  it('is locked while its owner runs, and unlocked as soon as its owner is killed', async () => {
    const data = createDataFolder();
    const owner = startChild('serve', data);
    await owner.waitForLines(1);
    expect(() => openTestStores({ data })).toThrow(
      expect.objectContaining({
        code: 'DATA_LOCKED',
        message: expect.stringContaining(`process ${owner.pid} on `) as string,
        details: expect.objectContaining({ pid: owner.pid }) as unknown,
      }),
    );
    await owner.kill();
    expect(() => openTestStores({ data })).not.toThrow();
  });

  it('stays locked for other processes if its owner opens it twice or checks the lock', async () => {
    const data = createDataFolder();
    expect(isOwned(data)).toBe(false);
    openTestStores({ data });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(() => openStores({ data })).toThrow(expect.objectContaining({ code: 'DATA_LOCKED' }));
      expect(isOwned(data)).toBe(true);
    }
    const otherProcess = startChild('serve', data);
    expect(await otherProcess.exitCode).toBe(1);
    expect(otherProcess.readStderr()).toContain('DATA_LOCKED');
  });

  it('lets other processes check whether it has an owner', async () => {
    const data = createDataFolder();
    const owner = startChild('serve', data);
    await owner.waitForLines(1);
    expect(isOwned(data)).toBe(true);
    await owner.kill();
    expect(isOwned(data)).toBe(false);
    expect(readFileSync(join(data, 'owner.json'), 'utf8')).toContain(String(owner.pid));
  });

  it('gets one owner if many processes start at the same time', async () => {
    const data = createDataFolder();
    const children = Array.from({ length: 4 }, () => startChild('serve', data));
    await vi.waitUntil(() => children.every((child) => child.values.length + child.readStderr().length > 0), {
      timeout: 20_000,
    });
    expect(children.filter((child) => child.values.length > 0)).toHaveLength(1);
    for (const child of children.filter((candidate) => candidate.values.length === 0)) {
      expect(await child.exitCode).toBe(1);
      expect(child.readStderr()).toContain('DATA_LOCKED');
    }
  });

  it('causes no output on stderr, even if this version of Node.js emits warnings for SQLite', async () => {
    const data = createDataFolder();
    const owner = startChild('serve', data);
    await owner.waitForLines(1);
    const client = startChild('cancel', data, 'r');
    expect(await client.exitCode).toBe(0);
    expect(owner.readStderr() + client.readStderr()).toBe('');
  });

  it('keeps every committed entry and no partial append when a process is killed during a write', async () => {
    const data = createDataFolder();
    for (const runId of ['a', 'b', 'c']) {
      const writer = startChild('write', data, runId);
      await writer.waitForLines(100);
      await writer.kill();
      const lastSeq = writer.values.at(-1) as number;
      const reader = openTestStores({ data, readOnly: true });
      const seqs = (await reader.runs.journal(runId)).map((storedEntry) => storedEntry.seq);
      expect(seqs.length).toBeGreaterThanOrEqual(lastSeq);
      expect(seqs.length % 2).toBe(1);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    }
    expect(openTestStores({ data }).runs.unfinishedRunIds()).toEqual(['a', 'b', 'c']);
  });

  it.skipIf(process.platform === 'win32')(
    'throws DATA_UNWRITABLE if the system refuses a write, and keeps the committed data',
    async () => {
      const data = createDataFolder();
      // A limit on the size of files, in blocks of 512 bytes, simulates a full disk: the write itself fails.
      const limitedProcess = startProgram('/bin/sh', [
        '-c',
        'ulimit -f 2048; exec "$0" "$@"',
        process.execPath,
        '--conditions=@heddle/source',
        CHILD_PROGRAM,
        'fill',
        data,
        'r',
      ]);
      const [entryError, valueError, committedSeq] = await limitedProcess.waitForLines(3);
      expect(entryError).toMatchObject({
        code: 'DATA_UNWRITABLE',
        message: expect.stringMatching(/heddle\.db" cannot be used: the disk/) as string,
      });
      expect(valueError).toMatchObject({
        code: 'DATA_UNWRITABLE',
        message: expect.stringMatching(/values.*file size/) as string,
      });
      expect(await limitedProcess.exitCode).toBe(0);
      const { runs } = openTestStores({ data });
      expect((await runs.journal('r')).length).toBe(committedSeq);
      await runs.append('r', [createEntry((committedSeq as number) + 1)]);
    },
  );

  it('shows each entry once and in order to two readers while another process writes', async () => {
    const data = createDataFolder();
    const { runs } = openTestStores({ data });
    await runs.create(createRunHeader('r'), createStartedEntry());
    const readers = [startChild('read', data, '600'), startChild('read', data, '600')];
    await Promise.all(readers.map((reader) => reader.waitForLines(1)));
    for (let seq = 2; seq <= 600; seq += 1) await runs.append('r', [createEntry(seq)]);
    for (const reader of readers) {
      expect(await reader.exitCode).toBe(0);
      expect(reader.values.flat()).toEqual(Array.from({ length: 600 }, (_, index) => index + 1));
    }
  });

  it('delivers each request to the owner once, and returns its outcome', async () => {
    const data = createDataFolder();
    const owner = startChild('serve', data);
    await owner.waitForLines(1);
    const clients = ['r1', 'r2', 'r3'].map((runId) => startChild('cancel', data, runId));
    for (const client of clients) {
      expect(await client.waitForLines(1)).toEqual([{ status: 'done', value: { pid: owner.pid } }]);
      expect(await client.exitCode).toBe(0);
    }
    expect(
      owner.values
        .slice(1)
        .map((line) => (line as { received: string }).received)
        .toSorted(),
    ).toEqual(['cancel r1', 'cancel r2', 'cancel r3']);
  });

  it('keeps a request for the next owner if its owner is killed before it handles the request', async () => {
    const data = createDataFolder();
    const firstOwner = startChild('serve', data, 'hang');
    await firstOwner.waitForLines(1);
    const client = startChild('cancel', data, 'r');
    expect((await firstOwner.waitForLines(2))[1]).toEqual({ received: 'cancel r' });
    await firstOwner.kill();
    expect(client.values).toEqual([]);
    const secondOwner = startChild('serve', data);
    expect(await client.waitForLines(1)).toEqual([{ status: 'done', value: { pid: secondOwner.pid } }]);
    expect(secondOwner.values.filter((line) => line !== 'serving')).toEqual([{ received: 'cancel r' }]);
  });
});
