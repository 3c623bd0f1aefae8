import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createFakeBuilder,
  createImageFolder,
  openImages,
  IMAGE_SPEC,
  createFakeClock,
} from '../../../test/support/images.ts';
import type { ImageBuilder } from './builder.ts';

/** A builder whose `resolve` waits until `release` is called. */
function createWaitingBuilder(): ReturnType<typeof createFakeBuilder> & { release: () => void } {
  let release: () => void = () => undefined;
  const releasePromise = new Promise<void>((resolve) => (release = resolve));
  const workingBuilder = createFakeBuilder();
  const resolve: ImageBuilder['resolve'] = async (spec, context) => (
    await releasePromise,
    workingBuilder.resolve(spec, context)
  );
  return { ...workingBuilder, resolve, release: () => release() };
}

describe('an image removed during its build', () => {
  it('does not exist afterwards, and its build is rejected', async () => {
    const javascript = createWaitingBuilder();
    const store = openImages({ javascript });
    const buildPromise = store.build(IMAGE_SPEC, { name: 'tools' });
    await expect.poll(async () => (await store.get('tools'))?.state).toBe('building');
    const { id } = (await store.get('tools'))!;
    expect(store.remove(id)).toBe(true);
    javascript.release();
    await expect(buildPromise).rejects.toMatchObject({
      code: 'IMAGE_NOT_FOUND',
      message: 'The image tools was removed while it was being built.',
    });
    expect(await store.list()).toEqual([]);
    await expect(store.open(id)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
    expect(await store.build(IMAGE_SPEC)).toMatchObject({
      state: 'ready',
      packages: ['alpha 1.0.0', 'beta@^2 1.0.0'],
    });
    expect(javascript.calls).toEqual(['resolve', 'assemble', 'resolve', 'assemble']);
  });

  it('and requested again in the meantime is built once', async () => {
    const javascript = createWaitingBuilder();
    const store = openImages({ javascript });
    const first = store.build(IMAGE_SPEC, { name: 'tools' });
    await expect.poll(async () => (await store.get('tools'))?.state).toBe('building');
    store.remove((await store.get('tools'))!.id);
    const second = store.build(IMAGE_SPEC);
    javascript.release();
    const record = await second;
    expect(await first).toEqual(record);
    expect(record).toMatchObject({ state: 'ready', names: [], packages: ['alpha 1.0.0', 'beta@^2 1.0.0'] });
    expect(javascript.calls).toEqual(['resolve', 'assemble']);
  });
});

describe('an image that is removed and requested again', () => {
  it('is resolved again, and can be rebuilt for another runtime', async () => {
    const folder = createImageFolder();
    const javascript = createFakeBuilder();
    const store = openImages({ javascript }, { folder });
    const { id } = await store.build(IMAGE_SPEC);
    store.remove(id);
    expect(await store.build(IMAGE_SPEC)).toMatchObject({ id, packages: ['alpha 1.0.0', 'beta@^2 1.0.0'] });
    expect(javascript.calls).toEqual(['resolve', 'assemble', 'resolve', 'assemble']);
    const nextBuilder = createFakeBuilder({ runtimeKeyParts: async () => ({ engine: '2' }) });
    expect(await openImages({ javascript: nextBuilder }, { folder }).open(id)).toBeDefined();
    expect(nextBuilder.calls).toEqual(['assemble']);
  });
});

describe('an image in use', () => {
  it('keeps its files in a garbage collection an hour after its removal, but cannot be opened', async () => {
    const clock = createFakeClock();
    const store = openImages({ javascript: createFakeBuilder() }, { clock });
    const { id } = await store.build(IMAGE_SPEC);
    const { blobs } = await store.open(id);
    store.remove(id);
    clock.advance(3_600_000);
    expect(await store.collectGarbage()).toEqual({ images: 0, blobs: 0 });
    expect(existsSync(blobs['bundle.js']!.path)).toBe(true);
    await expect(store.open(id)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
  });

  it('that is collected between lookup and use is rebuilt from its lock', async () => {
    const folder = createImageFolder();
    const javascript = createFakeBuilder();
    const { id } = await openImages({ javascript }, { folder }).build(IMAGE_SPEC);
    const db = new DatabaseSync(join(folder, 'images.db'));
    onTestFinished(() => db.close());
    // Another process, just before the image is leased.
    let isCollected = false;
    const now = (): number => {
      if (!isCollected) {
        isCollected = true;
        db.exec('DELETE FROM builds; DELETE FROM images; DELETE FROM blobs');
        rmSync(join(folder, 'blobs'), { recursive: true });
      }
      return Date.now();
    };
    const store = openImages({ javascript }, { folder, clock: { now, sleep: () => Promise.resolve() } });
    const image = await store.open(id);
    expect(isCollected).toBe(true);
    expect(existsSync(image.blobs['bundle.js']!.path)).toBe(true);
    expect(javascript.calls).toEqual(['resolve', 'assemble', 'assemble']);
  });

  it('whose file was deleted is refused with the name of the file, and rebuilt from its lock', async () => {
    const javascript = createFakeBuilder();
    const store = openImages({ javascript });
    const { id } = await store.build(IMAGE_SPEC);
    rmSync((await store.open(id)).blobs['bundle.js']!.path);
    await expect(store.open(id)).rejects.toMatchObject({
      code: 'IMAGE_FAILED',
      message: expect.stringMatching(/bundle\.js .* is missing from the store/) as string,
    });
    expect(await store.build(IMAGE_SPEC)).toMatchObject({ state: 'ready' });
    expect(javascript.calls).toEqual(['resolve', 'assemble', 'assemble']);
    expect(existsSync((await store.open(id)).blobs['bundle.js']!.path)).toBe(true);
  });
});

describe('a cached folder', () => {
  it('is recreated if it is collected while a build looks it up', async () => {
    const folder = createImageFolder();
    const db = new DatabaseSync(join(folder, 'images.db'));
    onTestFinished(() => db.close());
    let deletesNext = false;
    const now = (): number => {
      if (deletesNext) {
        deletesNext = false;
        db.exec('DELETE FROM blobs');
        rmSync(join(folder, 'blobs'), { recursive: true });
      }
      return Date.now();
    };
    let makeCount = 0;
    const javascript = createFakeBuilder({
      async assemble(lock, spec, context) {
        const make = async (cachedFolder: string): Promise<void> =>
          writeFileSync(join(cachedFolder, 'common'), `${++makeCount}`);
        await context.findOrMakeFolder('common', make);
        deletesNext = true;
        const { path } = await context.findOrMakeFolder('common', make);
        expect([deletesNext, existsSync(path)]).toEqual([false, true]);
        return createFakeBuilder().assemble(lock, spec, context);
      },
    });
    const store = openImages({ javascript }, { folder, clock: { now, sleep: () => Promise.resolve() } });
    expect(await store.build(IMAGE_SPEC)).toMatchObject({ state: 'ready', errorMessage: null });
    expect(makeCount).toBe(2);
  });
});

describe('runs that name an image', () => {
  it('build it if the process that was building it died', async () => {
    const folder = createImageFolder();
    const clock = createFakeClock();
    const blockedBuilder = createWaitingBuilder();
    const deadStore = openImages({ javascript: blockedBuilder }, { folder, clock });
    const buildPromise = deadStore.build(IMAGE_SPEC, { name: 'tools' });
    await expect.poll(async () => (await deadStore.get('tools'))?.state).toBe('building');
    const javascript = createFakeBuilder();
    const store = openImages({ javascript }, { folder, clock });
    await expect(store.open('tools')).rejects.toMatchObject({ code: 'IMAGE_NOT_READY' });
    clock.advance(61_000);
    expect(await store.open('tools')).toBeDefined();
    expect(javascript.calls).toEqual(['resolve', 'assemble']);
    blockedBuilder.release();
    await buildPromise;
  });

  it('concurrently after a runtime change wait for one build', async () => {
    const folder = createImageFolder();
    await openImages({ javascript: createFakeBuilder() }, { folder }).build(IMAGE_SPEC, { name: 'tools' });
    let release: () => void = () => undefined;
    const releasePromise = new Promise<void>((resolve) => (release = resolve));
    const workingBuilder = createFakeBuilder();
    const javascript = createFakeBuilder({
      runtimeKeyParts: async () => ({ engine: '2' }),
      assemble: async (lock, spec, context) => (
        await releasePromise,
        workingBuilder.assemble(lock, spec, context)
      ),
    });
    const [firstStore, secondStore] = [
      openImages({ javascript }, { folder }),
      openImages({ javascript }, { folder }),
    ];
    const firstOpening = firstStore.open('tools');
    await expect.poll(async () => (await firstStore.get('tools'))?.state).toBe('building');
    const laterOpenings = [firstStore.open('tools'), secondStore.open('tools')];
    release();
    const [firstImage, ...laterImages] = await Promise.all([firstOpening, ...laterOpenings]);
    expect(laterImages.map(({ id }) => id)).toEqual([firstImage!.id, firstImage!.id]);
    expect(workingBuilder.calls).toEqual(['assemble']);
  });
});
