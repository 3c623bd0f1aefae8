import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  createFakeBuilder,
  createImageFolder,
  openImages,
  IMAGE_SPEC,
  createFakeClock,
} from '../../../test/support/images.ts';
import { createImages } from './images.ts';

const DAY_MS = 24 * 3_600_000;

describe('several processes', () => {
  const run = promisify(execFile);
  const script = fileURLToPath(new URL('../../../test/support/build-image-once.ts', import.meta.url));

  it('that need the same image build it once', async () => {
    const path = createImageFolder();
    const logPath = join(path, 'log');
    const args = ['--conditions=@heddle/source', script, path, logPath];
    const outcomes = await Promise.all([1, 2, 3].map(() => run(process.execPath, args)));
    const ids = outcomes.map(({ stdout }) => stdout.trim());
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).toMatch(/^ready [0-9a-f]{64}$/);
    expect(readFileSync(logPath, 'utf8')).toBe('resolve\n');
  });

  it('take over a build when its process is dead, and not before', async () => {
    const path = createImageFolder();
    const clock = createFakeClock();
    // A killed process cannot report anything.
    const deadStore = createImages({
      folder: path,
      clock,
      builders: { javascript: createFakeBuilder({ resolve: () => new Promise(() => undefined) }) },
    });
    void deadStore.build(IMAGE_SPEC);
    await expect.poll(async () => (await deadStore.list())[0]?.state).toBe('building');
    const javascript = createFakeBuilder();
    let polls = 0;
    let callsBefore: string[] = ['never polled'];
    const sleep = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (++polls === 3) callsBefore = [...javascript.calls];
      if (polls >= 3) clock.advance(61_000);
    };
    const store = openImages({ javascript }, { folder: path, clock: { now: clock.now, sleep } });
    expect(await store.build(IMAGE_SPEC)).toMatchObject({ state: 'ready' });
    expect(polls).toBe(3);
    expect(callsBefore).toEqual([]);
  });
});

describe('a garbage collection', () => {
  it('removes only images that no specification has used for a day', async () => {
    const path = createImageFolder();
    const clock = createFakeClock();
    const store = openImages({ javascript: createFakeBuilder() }, { folder: path, clock });
    const usedRecord = await store.build(IMAGE_SPEC);
    const removedRecord = await store.build({ ...IMAGE_SPEC, dependencies: ['gamma'] }, { name: 'gone' });
    const files = await Promise.all(
      [usedRecord, removedRecord].map(async ({ id }) => (await store.open(id)).blobs['bundle.js']!.path),
    );
    expect(store.remove(removedRecord.id)).toBe(true);
    expect(store.remove(removedRecord.id)).toBe(false);
    clock.advance(2 * DAY_MS);
    // The day starts when a collection first finds the image unused.
    expect(await store.collectGarbage()).toEqual({ images: 0, blobs: 0 });
    clock.advance(DAY_MS - 1);
    expect(await store.collectGarbage()).toEqual({ images: 0, blobs: 0 });
    clock.advance(1);
    expect(await store.collectGarbage()).toEqual({ images: 1, blobs: 1 });
    expect(files.map((file) => existsSync(file))).toEqual([true, false]);
    expect(await store.open(usedRecord.id)).toBeDefined();
    await expect(store.open(removedRecord.imageId!)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
  });

  it('keeps images that a run has opened', async () => {
    const clock = createFakeClock();
    const store = openImages({ javascript: createFakeBuilder() }, { clock });
    const { id, imageId } = await store.build(IMAGE_SPEC);
    store.remove(id);
    for (let hours = 0; hours < 60; hours++) {
      await store.open(imageId!);
      expect(await store.collectGarbage()).toEqual({ images: 0, blobs: 0 });
      clock.advance(DAY_MS / 24 - 1);
    }
    clock.advance(DAY_MS);
    await store.collectGarbage();
    clock.advance(DAY_MS);
    expect(await store.collectGarbage()).toEqual({ images: 1, blobs: 1 });
  });

  it('counts the day from the last use, even if the lease began and expired since the previous collection', async () => {
    const clock = createFakeClock();
    const store = openImages({ javascript: createFakeBuilder() }, { clock });
    const { id, imageId } = await store.build(IMAGE_SPEC);
    store.remove(id);
    await store.collectGarbage();
    clock.advance(DAY_MS - 1);
    await store.open(imageId!);
    clock.advance(DAY_MS / 2);
    expect(await store.collectGarbage()).toEqual({ images: 0, blobs: 0 });
    expect(await store.open(imageId!)).toBeDefined();
  });

  it('keeps what builds cache until no build has used it for 30 days', async () => {
    const clock = createFakeClock();
    let makeCount = 0;
    const javascript = createFakeBuilder({
      async assemble(lock, spec, context) {
        await context.findOrMakeFolder('tool', async (folder) =>
          writeFileSync(join(folder, 'program'), `${++makeCount}`),
        );
        return createFakeBuilder().assemble(lock, spec, context);
      },
    });
    const store = openImages({ javascript }, { clock });
    for (const [days, collectedCount, expectedMakeCount] of [
      [0, 0, 1],
      [30 - 1, 0, 1],
      [30 - 1, 0, 1],
      [30, 1, 2],
    ] as const) {
      clock.advance(days * DAY_MS);
      expect(await store.collectGarbage()).toEqual({ images: 0, blobs: collectedCount });
      await store.build(IMAGE_SPEC, { refresh: true });
      expect(makeCount).toBe(expectedMakeCount);
    }
  });

  it('of two processes at the same time removes each file once', async () => {
    const folder = createImageFolder();
    const strayDigests = Array.from({ length: 20 }, (_, n) => `${n + 10}`.repeat(32));
    for (const sha256 of strayDigests) {
      const blobFolder = join(folder, 'blobs', sha256.slice(0, 2));
      mkdirSync(blobFolder, { recursive: true });
      writeFileSync(join(blobFolder, sha256), 'x');
    }
    const clock = { now: () => Date.now() + 2 * DAY_MS, sleep: () => Promise.resolve() };
    const stores = [1, 2].map(() => openImages({}, { folder, clock }));
    const reports = await Promise.all(stores.map((store) => store.collectGarbage()));
    expect(reports.reduce((sum, { blobs }) => sum + blobs, 0)).toBe(strayDigests.length);
  });
});
