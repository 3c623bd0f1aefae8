import { execFile, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createFakeBuilder,
  createImageFolder,
  openImages,
  IMAGE_SPEC,
  createFakeClock,
} from '../../../test/support/images.ts';
import { ImageError } from './error.ts';
import { createImages } from './images.ts';

const DAY_MS = 24 * 3_600_000;
const SCRIPT = fileURLToPath(new URL('../../../test/support/build-image-once.ts', import.meta.url));
const ALPHA_SPEC = { language: 'javascript', dependencies: ['alpha'] };

/** The system's clock, set ahead. */
const createClockAhead = (ms: number) => ({ now: () => Date.now() + ms, sleep: () => Promise.resolve() });

describe('an interrupted build', () => {
  it('is taken over, and its work folder is removed after a day', async () => {
    const folder = createImageFolder();
    const logFile = join(folder, 'log');
    const child = spawn(process.execPath, ['--conditions=@heddle/source', SCRIPT, folder, logFile]);
    await expect.poll(() => existsSync(logFile), { timeout: 20_000 }).toBe(true);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    expect(readdirSync(join(folder, 'work'))).toHaveLength(1);
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...['--conditions=@heddle/source', '--input-type=module', '--eval'],
      `import { createImages } from '@heddle/images';
       const images = createImages({ folder: ${JSON.stringify(folder)}, builders: {} });
       process.stdout.write((await images.list())[0]?.state ?? 'none');
       await images.close();`,
    ]);
    expect(['building', 'pending']).toContain(stdout);
    const javascript = createFakeBuilder({ runtimeKeyParts: async () => ({}) });
    const store = openImages({ javascript }, { folder, clock: createClockAhead(61_000) });
    expect(await store.build(ALPHA_SPEC)).toMatchObject({ state: 'ready' });
    expect(javascript.calls).toEqual(['resolve', 'assemble']);
    await openImages({ javascript }, { folder, clock: createClockAhead(2 * DAY_MS) }).collectGarbage();
    expect(readdirSync(join(folder, 'work'))).toEqual([]);
  });

  it('keeps its work folder until a day after its time limit, which may be longer than a day', async () => {
    const folder = createImageFolder();
    const clock = createFakeClock();
    const { promise: allowed, resolve: allow } = Promise.withResolvers<void>();
    const builder = createFakeBuilder();
    const javascript = createFakeBuilder({
      async resolve(spec, context) {
        await allowed;
        return builder.resolve(spec, context);
      },
    });
    const buildTimeoutMs = 3 * DAY_MS;
    const store = openImages({ javascript }, { folder, clock, buildTimeoutMs });
    const buildPromise = store.build(IMAGE_SPEC);
    const countWorkFolders = () => readdirSync(join(folder, 'work')).length;
    await expect.poll(countWorkFolders).toBe(1);
    clock.advance(buildTimeoutMs - 1);
    const otherStore = openImages({}, { folder, clock });
    await otherStore.collectGarbage();
    expect(countWorkFolders()).toBe(1);
    clock.advance(DAY_MS);
    await otherStore.collectGarbage();
    expect(countWorkFolders()).toBe(1);
    clock.advance(1);
    await otherStore.collectGarbage();
    expect(countWorkFolders()).toBe(0);
    allow();
    await buildPromise;
  });

  it('changes nothing if it resumes after another process took it over', async () => {
    const folder = createImageFolder();
    const clock = createFakeClock();
    let wake: () => void = () => undefined;
    const wakePromise = new Promise<void>((resolve) => (wake = resolve));
    const lateBuilder = createFakeBuilder({
      async resolve() {
        await wakePromise;
        return { entries: [{ name: 'alpha', version: '0.0.1', digest: 'sha256:11' }], data: null };
      },
    });
    const firstStore = openImages({ javascript: lateBuilder }, { folder, clock });
    const buildPromise = firstStore.build(IMAGE_SPEC);
    await expect.poll(async () => (await firstStore.list())[0]?.state).toBe('building');
    clock.advance(61_000);
    const secondStore = openImages({ javascript: createFakeBuilder() }, { folder, clock });
    const record = await secondStore.build(IMAGE_SPEC);
    wake();
    await buildPromise;
    expect(await secondStore.get(record.id)).toEqual(record);
  });
});

describe('a store', () => {
  it('replaces a partially written file with the intact one', async () => {
    const otherStore = openImages({ javascript: createFakeBuilder() });
    const { path } = (await otherStore.open((await otherStore.build(IMAGE_SPEC)).id)).blobs['bundle.js']!;
    const folder = createImageFolder();
    const storedPath = join(folder, 'blobs', ...path.split('/').slice(-2));
    mkdirSync(dirname(storedPath), { recursive: true });
    writeFileSync(storedPath, readFileSync(path));
    truncateSync(storedPath, 3);
    const store = openImages({ javascript: createFakeBuilder() }, { folder });
    const { id } = await store.build(IMAGE_SPEC);
    expect((await store.open(id)).blobs['bundle.js']!.path).toBe(storedPath);
    expect(readFileSync(storedPath)).toEqual(readFileSync(path));
  });

  it('removes files without a row a day after they were added', async () => {
    const folder = createImageFolder();
    const strayPath = join(folder, 'blobs', 'ab', 'ab'.repeat(32));
    mkdirSync(dirname(strayPath), { recursive: true });
    writeFileSync(strayPath, 'x');
    const store = openImages({ javascript: createFakeBuilder() }, { folder });
    expect(await store.collectGarbage()).toEqual({ images: 0, blobs: 0 });
    expect(existsSync(strayPath)).toBe(true);
    const laterStore = openImages(
      { javascript: createFakeBuilder() },
      { folder, clock: createClockAhead(DAY_MS + 60_000) },
    );
    expect(await laterStore.collectGarbage()).toEqual({ images: 0, blobs: 1 });
    expect(existsSync(strayPath)).toBe(false);
  });

  it('refuses an index that a later version of Heddle wrote', async () => {
    const folder = createImageFolder();
    await createImages({ folder, builders: {} }).close();
    const db = new DatabaseSync(join(folder, 'images.db'));
    db.exec('PRAGMA user_version = 2');
    db.close();
    expect(() => createImages({ folder, builders: {} })).toThrow(/format 2, which a later version/);
  });

  it('serves two versions of Heddle, each with its own image from the same lock', async () => {
    const folder = createImageFolder();
    const [oldBuilder, newBuilder] = ['1', '2'].map((engine) =>
      createFakeBuilder({ runtimeKeyParts: async () => ({ engine }) }),
    ) as [ReturnType<typeof createFakeBuilder>, ReturnType<typeof createFakeBuilder>];
    const oldStore = openImages({ javascript: oldBuilder }, { folder });
    const newStore = openImages({ javascript: newBuilder }, { folder });
    const { id } = await oldStore.build(IMAGE_SPEC);
    const [a, b] = [await oldStore.open(id), await newStore.open(id)];
    expect(a.id).not.toBe(b.id);
    expect([oldBuilder.calls, newBuilder.calls]).toEqual([['resolve', 'assemble'], ['assemble']]);
    const [reopenedOldImage, reopenedNewImage] = [await oldStore.open(id), await newStore.open(id)];
    expect([reopenedOldImage.id, reopenedNewImage.id]).toEqual([a.id, b.id]);
  });
});

describe('an image', () => {
  it('is still used if its rebuild failed', async () => {
    const clock = createFakeClock();
    let fails = false;
    const workingBuilder = createFakeBuilder();
    const javascript = createFakeBuilder({
      resolve: (spec, context) =>
        fails
          ? Promise.reject(new ImageError('registry_unavailable', 'The registry is down.'))
          : workingBuilder.resolve(spec, context),
    });
    const store = openImages({ javascript }, { clock });
    const { id, imageId } = await store.build(IMAGE_SPEC);
    fails = true;
    expect(await store.build(IMAGE_SPEC, { refresh: true })).toMatchObject({
      state: 'failed',
      errorCode: 'registry_unavailable',
      imageId,
    });
    expect((await store.open(id)).id).toBe(imageId);
    clock.advance(DAY_MS);
    expect((await store.open(id)).id).toBe(imageId);
  });

  it.each([
    ['its data is null', '{"entries": [], "data": null}'],
    ['its data has unknown fields', '{"entries": [], "data": {"lockfile": 1}}'],
  ])('fails with integrity_error if its lock cannot be read (%s)', async (_description, lock) => {
    const { javascriptBuilder } = await import('./javascript/builder.ts');
    const folder = createImageFolder();
    await openImages({ javascript: createFakeBuilder() }, { folder }).build(IMAGE_SPEC);
    const db = new DatabaseSync(join(folder, 'images.db'));
    db.prepare('UPDATE specs SET lock = ?').run(lock);
    db.close();
    const store = openImages({ javascript: javascriptBuilder({ npm: false }) }, { folder });
    expect(await store.build(IMAGE_SPEC)).toMatchObject({
      errorCode: 'integrity_error',
      errorMessage: expect.stringMatching(/lock of the image cannot be read.*refresh/) as string,
    });
  });
});

/** Returns a folder with 2 MiB of space, or undefined if this user may not mount. */
function mountTinyDisk(): string | undefined {
  const folder = createImageFolder();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status !== 0) return undefined;
  onTestFinished(() => void spawnSync('umount', ['-l', folder]));
  return folder;
}

const mayMount = process.geteuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

describe.skipIf(!mayMount)('a full disk', () => {
  it('fails the build with a message, and the next build succeeds once there is space', async (context) => {
    const folder = mountTinyDisk();
    if (folder === undefined) return context.skip('tmpfs cannot be mounted here');
    const fillerPath = join(folder, 'filler');
    const javascript = createFakeBuilder({
      async assemble(_lock, spec, { workFolder }) {
        const path = join(workFolder, 'bundle');
        writeFileSync(path, Buffer.alloc(2 ** 20));
        return {
          blobs: { 'bundle.js': path },
          features: { modules: spec.dependencies },
          warnings: [],
          tools: {},
        };
      },
    });
    const store = openImages({ javascript }, { folder });
    writeFileSync(fillerPath, Buffer.alloc(2 ** 20 + 2 ** 18));
    expect(await store.build(IMAGE_SPEC)).toMatchObject({
      state: 'failed',
      errorCode: 'provider_error',
      errorMessage: 'The disk with the images is full; free some space and build again.',
    });
    expect(readdirSync(join(folder, 'work'))).toEqual([]);
    rmSync(fillerPath);
    const record = await store.build(IMAGE_SPEC);
    expect(record).toMatchObject({ state: 'ready' });
    expect((await store.open(record.id)).blobs['bundle.js']!.size).toBe(2 ** 20);
  });
});
