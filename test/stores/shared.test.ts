import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isOwned, isShared } from '../../packages/engine/src/store/lock.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import type { Stores } from '../../packages/engine/src/store/stores.ts';
import { dataFolder } from '../support/data-folder.ts';
import { entry, newRun, startedEntry } from '../support/run-data.ts';
import { startChild } from './process.ts';
import { openTestStores } from './stores.ts';

describe('a data folder that several processes share', () => {
  it('is created once if many processes start at the same time, and has each entry once, in order', async () => {
    const data = dataFolder();
    const writers = Array.from({ length: 4 }, () => startChild('share', data, '|r|200'));
    const created = await Promise.all(writers.map(async (one) => (await one.waitForLines(1))[0]));
    expect(created.filter((isCreated) => isCreated === true)).toHaveLength(1);
    for (const one of writers) expect(await one.ended, one.errors()).toBe(0);
    const { runs } = openTestStores({ data, shared: true });
    const expected = Array.from({ length: 200 }, (_, index) => index + 1);
    expect((await runs.journal('r')).map((one) => one.seq)).toEqual(expected);
    expect(await runs.record('r')).toMatchObject({ seq: 200 });
    expect(await runs.logs('r')).toMatchObject([{ startedMs: 200 }]);
  });

  it('refuses an exclusive owner, with a hint in the error', async () => {
    const data = dataFolder();
    const other = startChild('append', data, '|r');
    await other.waitForLines(1);
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
    await other.kill();
    expect(() => openStores({ data })).toThrow(expect.objectContaining({ code: 'DATA_LOCKED' }));
    stores.close();
    expect(() => openTestStores({ data })).not.toThrow();
  });

  it('lets other processes check that it is shared, even repeatedly, until the last process closes it', async () => {
    const data = dataFolder();
    expect(isShared(data)).toBe(false);
    const other = startChild('append', data, '|r');
    await other.waitForLines(1);
    for (let count = 0; count < 50; count++) expect(isShared(data)).toBe(true);
    await other.waitForLines(other.lines.length + 10);
    await other.kill();
    expect(isShared(data)).toBe(false);
    const owner = startChild('serve', data);
    await owner.waitForLines(1);
    expect(isShared(data)).toBe(false);
  });

  it('cannot be shared while it has an exclusive owner, which the error names', async () => {
    const data = dataFolder();
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
    const data = dataFolder();
    const [first, second] = [startChild('append', data, '|a'), startChild('append', data, '|b')];
    await Promise.all([first.waitForLines(30), second.waitForLines(30)]);
    await first.kill();
    const last = first.lines.at(-1) as number;
    await second.waitForLines(second.lines.length + 10);
    await second.kill();
    const { runs } = openTestStores({ data });
    const seqs = (await runs.journal('a')).map((one) => one.seq);
    expect(seqs.length).toBeGreaterThanOrEqual(last);
    expect(seqs.length % 2).toBe(1);
    expect((await runs.journal('b')).length).toBeGreaterThanOrEqual(second.lines.at(-1) as number);
  });

  it('can be shared within one process, with each store reading the others’ writes', async () => {
    const data = dataFolder();
    const [one, two] = [openTestStores({ data, shared: true }), openTestStores({ data, shared: true })];
    expect(await one.runs.create(newRun('r'), startedEntry())).toBe(true);
    expect(await two.runs.create(newRun('r'), startedEntry())).toBe(false);
    await two.runs.append('r', [entry(2)]);
    expect(await one.runs.tail('r', 1)).toEqual([entry(2)]);
    const large = await one.values.put(JSON.stringify('x'.repeat(300_000)));
    expect(await two.values.get(large)).toHaveLength(300_002);
    for (const hash of ['p1', 'p2']) await one.definitions.putPlan(hash, { hash });
    const deploy = async (stores: Stores, planHash: string): Promise<number> =>
      stores.definitions.deploy({ workflowId: 'w', name: 'W', planHash, atMs: 1 });
    expect([
      await deploy(one, 'p1'),
      await deploy(two, 'p2'),
      await deploy(one, 'p2'),
      await deploy(two, 'p1'),
    ]).toEqual([1, 2, 2, 3]);
    const reader = openTestStores({ data, readOnly: true });
    expect(await reader.runs.journal('r')).toHaveLength(2);
    one.close();
    expect(() => openStores({ data })).toThrow(expect.objectContaining({ code: 'DATA_LOCKED' }));
  });

  it('keeps unfinished files, because other processes may be writing them', () => {
    const data = dataFolder();
    const draft = join(data, 'values/unfinished/draft');
    mkdirSync(join(data, 'values/unfinished'), { recursive: true });
    writeFileSync(draft, '');
    openStores({ data, shared: true }).close();
    expect(existsSync(draft)).toBe(true);
    openStores({ data }).close();
    expect(existsSync(draft)).toBe(false);
  });

  it('cannot be in memory', () => {
    expect(() => openStores({ shared: true })).toThrow(expect.objectContaining({ code: 'OPTIONS_INVALID' }));
  });
});
