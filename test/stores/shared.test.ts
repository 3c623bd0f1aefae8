import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isOwned, isShared } from '../../packages/engine/src/store/lock.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import type { Stores } from '../../packages/engine/src/store/stores.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { createEntry, createRunHeader, createStartedEntry } from '../support/run-data.ts';
import { startChild } from './process.ts';
import { openTestStores } from './stores.ts';

describe('a data folder that several processes share', () => {
  it('is created once if many processes start at the same time, and has each entry once, in order', async () => {
    const data = createDataFolder();
    const writers = Array.from({ length: 4 }, () => startChild('share', data, '|r|200'));
    const creationResults = await Promise.all(
      writers.map(async (writer) => (await writer.waitForLines(1))[0]),
    );
    expect(creationResults.filter((isCreated) => isCreated === true)).toHaveLength(1);
    for (const writer of writers) expect(await writer.exitCode, writer.readStderr()).toBe(0);
    const { runs } = openTestStores({ data, shared: true });
    const expected = Array.from({ length: 200 }, (_, index) => index + 1);
    expect((await runs.journal('r')).map((storedEntry) => storedEntry.seq)).toEqual(expected);
    expect(await runs.record('r')).toMatchObject({ seq: 200 });
    expect(await runs.logs('r')).toMatchObject([{ startedMs: 200 }]);
  });

  it('refuses an exclusive owner, with a hint in the error', async () => {
    const data = createDataFolder();
    const otherProcess = startChild('append', data, '|r');
    await otherProcess.waitForLines(1);
    const stores = openTestStores({ data, shared: true });
    expect(() => openStores({ data })).toThrow(
      expect.objectContaining({
        code: 'DATA_LOCKED',
        message: expect.stringMatching(
          /shared by other processes.*Wait until they end.*share it as well/,
        ) as string,
        details: { data, shared: true },
      }),
    );
    expect(isOwned(data)).toBe(false);
    await otherProcess.kill();
    expect(() => openStores({ data })).toThrow(expect.objectContaining({ code: 'DATA_LOCKED' }));
    stores.close();
    expect(() => openTestStores({ data })).not.toThrow();
  });

  it('lets other processes check that it is shared, even repeatedly, until the last process closes it', async () => {
    const data = createDataFolder();
    expect(isShared(data)).toBe(false);
    const otherProcess = startChild('append', data, '|r');
    await otherProcess.waitForLines(1);
    for (let count = 0; count < 50; count++) expect(isShared(data)).toBe(true);
    await otherProcess.waitForLines(otherProcess.values.length + 10);
    await otherProcess.kill();
    expect(isShared(data)).toBe(false);
    const owner = startChild('serve', data);
    await owner.waitForLines(1);
    expect(isShared(data)).toBe(false);
  });

  it('cannot be shared while it has an exclusive owner, which the error names', async () => {
    const data = createDataFolder();
    const owner = startChild('serve', data);
    await owner.waitForLines(1);
    expect(() => openStores({ data, shared: true })).toThrow(
      expect.objectContaining({
        code: 'DATA_LOCKED',
        message: expect.stringMatching(
          new RegExp(`by process ${owner.pid} on .*start it so that it shares the folder`),
        ) as string,
      }),
    );
    await owner.kill();
    expect(() => openTestStores({ data, shared: true })).not.toThrow();
  });

  it('keeps the commits of a process that was killed, while the others continue', async () => {
    const data = createDataFolder();
    const [firstWriter, secondWriter] = [startChild('append', data, '|a'), startChild('append', data, '|b')];
    await Promise.all([firstWriter.waitForLines(30), secondWriter.waitForLines(30)]);
    await firstWriter.kill();
    const lastSeq = firstWriter.values.at(-1) as number;
    await secondWriter.waitForLines(secondWriter.values.length + 10);
    await secondWriter.kill();
    const { runs } = openTestStores({ data });
    const seqs = (await runs.journal('a')).map((storedEntry) => storedEntry.seq);
    expect(seqs.length).toBeGreaterThanOrEqual(lastSeq);
    expect(seqs.length % 2).toBe(1);
    expect((await runs.journal('b')).length).toBeGreaterThanOrEqual(secondWriter.values.at(-1) as number);
  });

  it('can be shared within one process, with each store reading the others’ writes', async () => {
    const data = createDataFolder();
    const [firstStores, secondStores] = [
      openTestStores({ data, shared: true }),
      openTestStores({ data, shared: true }),
    ];
    expect(await firstStores.runs.create(createRunHeader('r'), createStartedEntry())).toBe(true);
    expect(await secondStores.runs.create(createRunHeader('r'), createStartedEntry())).toBe(false);
    await secondStores.runs.append('r', [createEntry(2)]);
    expect(await firstStores.runs.tail('r', 1)).toEqual([createEntry(2)]);
    const largeValueKey = await firstStores.values.put(JSON.stringify('x'.repeat(300_000)));
    expect(await secondStores.values.get(largeValueKey)).toHaveLength(300_002);
    for (const hash of ['p1', 'p2']) await firstStores.definitions.putPlan(hash, { hash });
    const deploy = async (stores: Stores, planHash: string): Promise<number> =>
      stores.definitions.deploy({ workflowId: 'w', name: 'W', planHash, atMs: 1 });
    expect([
      await deploy(firstStores, 'p1'),
      await deploy(secondStores, 'p2'),
      await deploy(firstStores, 'p2'),
      await deploy(secondStores, 'p1'),
    ]).toEqual([1, 2, 2, 3]);
    const reader = openTestStores({ data, readOnly: true });
    expect(await reader.runs.journal('r')).toHaveLength(2);
    firstStores.close();
    expect(() => openStores({ data })).toThrow(expect.objectContaining({ code: 'DATA_LOCKED' }));
  });

  it('keeps unfinished files, because other processes may be writing them', () => {
    const data = createDataFolder();
    const unfinishedFile = join(data, 'values/unfinished/draft');
    mkdirSync(join(data, 'values/unfinished'), { recursive: true });
    writeFileSync(unfinishedFile, '');
    openStores({ data, shared: true }).close();
    expect(existsSync(unfinishedFile)).toBe(true);
    openStores({ data }).close();
    expect(existsSync(unfinishedFile)).toBe(false);
  });

  it('cannot be in memory', () => {
    expect(() => openStores({ shared: true })).toThrow(expect.objectContaining({ code: 'OPTIONS_INVALID' }));
  });
});
