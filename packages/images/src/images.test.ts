import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  createFakeBuilder,
  createImageFolder,
  openImages,
  IMAGE_SPEC,
  createFakeClock,
} from '../../../test/support/images.ts';
import { ImageError } from './error.ts';

describe('a build', () => {
  it('resolves, assembles and stores an image that can be opened', async () => {
    const javascript = createFakeBuilder();
    const store = openImages({ javascript });
    const steps: string[] = [];
    const record = await store.build(IMAGE_SPEC, { name: 'tools', onProgress: (step) => steps.push(step) });
    expect(record).toMatchObject({
      state: 'ready',
      names: ['tools'],
      packages: ['alpha 1.0.0', 'beta@^2 1.0.0'],
      errorCode: null,
    });
    expect(record.builtAt).toMatch(/^\d{4}-/);
    expect(steps).toEqual(['resolving', 'assembling', 'publishing']);
    const image = await store.open('tools');
    expect(image).toMatchObject({ id: record.imageId, language: 'javascript', runtime: 'isolate' });
    expect(readFileSync(image.blobs['bundle.js']!.path, 'utf8')).toContain('alpha');
    expect(await store.open(record.id)).toEqual(image);
    expect(await store.open(record.id.slice(0, 12))).toEqual(image);
    expect(await store.open(image.id)).toEqual(image);
  });

  it('is shared by equal specifications, concurrently and later', async () => {
    const javascript = createFakeBuilder();
    const store = openImages({ javascript });
    const equalSpec = { language: 'javascript', dependencies: ['# both', ' beta@^2', 'alpha', 'alpha'] };
    const [a, b] = await Promise.all([store.build(IMAGE_SPEC), store.build(equalSpec)]);
    expect(a).toEqual(b);
    await store.build(equalSpec);
    expect(javascript.calls).toEqual(['resolve', 'assemble']);
    expect(await store.list()).toHaveLength(1);
  });

  it('resolves again only on request', async () => {
    const javascript = createFakeBuilder();
    const store = openImages({ javascript });
    await store.build(IMAGE_SPEC);
    await store.build(IMAGE_SPEC, { refresh: true });
    expect(javascript.calls).toEqual(['resolve', 'assemble', 'resolve', 'assemble']);
  });

  it('leaves no files in the work folder', async () => {
    const path = createImageFolder();
    const store = openImages({ javascript: createFakeBuilder() }, { folder: path });
    await store.build(IMAGE_SPEC);
    expect(readdirSync(join(path, 'work'))).toEqual([]);
  });

  it('refuses an invalid specification and locates each issue', async () => {
    const store = openImages({ javascript: createFakeBuilder() });
    const invalidSpec = {
      language: 'javascript',
      dependencies: ['ok', '--evil', 'a b'],
      systemPackages: ['jq-'],
    };
    await expect(store.build(invalidSpec)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      issues: [
        { field: 'dependencies', line: 2, value: '--evil' },
        { field: 'dependencies', line: 3, value: 'a b' },
        { field: 'systemPackages', line: 1, value: 'jq-' },
      ],
    });
    expect(await store.list()).toEqual([]);
  });

  it('fails with code, message and the end of its log, without tokens and paths', async () => {
    const registries = { npm: { '//registry.test/:_authToken': 'very-secret-token' } };
    let workFolder = '';
    const javascript = createFakeBuilder({
      async resolve(_spec, context) {
        workFolder = context.workFolder;
        context.log('x'.repeat(10_000));
        context.log(`npm error in ${workFolder}/a with very-secret-token and https://me:pass@host/x`);
        throw new ImageError('package_not_found', `No package "alpha" (very-secret-token) in ${workFolder}.`);
      },
    });
    const record = await openImages({ javascript }, { registries }).build(IMAGE_SPEC);
    expect(record).toMatchObject({
      state: 'failed',
      errorCode: 'package_not_found',
      errorMessage: 'No package "alpha" (***) in ….',
      builtAt: null,
    });
    expect(record.errorDetail).toHaveLength(4_000);
    expect(record.errorDetail).toMatch(/^…x+\nnpm error in …\/a with \*\*\* and https:\/\/\*\*\*@host\/x$/);
  });

  it('fails with provider_error for a reason other than its packages', async () => {
    const javascript = createFakeBuilder({ resolve: () => Promise.reject(new Error('disk is full')) });
    const record = await openImages({ javascript }).build(IMAGE_SPEC);
    expect(record).toMatchObject({
      errorCode: 'provider_error',
      errorMessage: expect.stringContaining('disk is full') as string,
    });
    const recordWithoutBuilder = await openImages({}).build(IMAGE_SPEC);
    expect(recordWithoutBuilder).toMatchObject({
      errorCode: 'provider_error',
      errorMessage: expect.stringContaining('javascript') as string,
    });
  });

  it.each([
    ['javascript', IMAGE_SPEC],
    ['python', { language: 'python', dependencies: ['alpha'] }],
    ['native', { language: 'python', systemPackages: ['jq'] }],
  ] as const)('of an image above the size limit fails and leaves no files: %s', async (kind, spec) => {
    const folder = createImageFolder();
    const largeBuilder = createFakeBuilder({
      async assemble(_lock, _spec, { workFolder }) {
        const root = join(workFolder, 'root');
        mkdirSync(join(root, 'inner'), { recursive: true });
        for (const name of ['a', 'inner/b']) writeFileSync(join(root, name), Buffer.alloc(600 * 1024));
        return { blobs: { rootfs: root }, features: { modules: [] }, warnings: [], tools: {} };
      },
    });
    const failedRecord = await openImages({ [kind]: largeBuilder }, { folder, maxImageMiB: 1 }).build(spec);
    expect(failedRecord).toMatchObject({
      errorCode: 'image_too_large',
      errorMessage: 'The image is 2 MiB; the maximum is 1 MiB.',
    });
    expect(readdirSync(join(folder, 'blobs'))).toEqual([]);
    expect(await openImages({ [kind]: largeBuilder }, { maxImageMiB: 2 }).build(spec)).toMatchObject({
      state: 'ready',
    });
  });

  it('ends at its deadline', async () => {
    const javascript = createFakeBuilder({
      resolve: (_spec, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        ),
    });
    const record = await openImages({ javascript }, { buildTimeoutMs: 20 }).build(IMAGE_SPEC);
    expect(record).toMatchObject({ state: 'failed', errorCode: 'build_timeout' });
  });

  it('falls back to the native runtime if no image for the isolate can be built', async () => {
    const python = createFakeBuilder({
      resolve: () => Promise.reject(new ImageError('no_compatible_wheel', 'No wheel of numpy.')),
    });
    const native = createFakeBuilder({ runtime: 'native' });
    const spec = { language: 'python', dependencies: ['numpy'] };
    const store = openImages({ python, native });
    expect(await store.build(spec)).toMatchObject({ state: 'ready', runtime: 'native' });
    expect((await store.open((await store.list())[0]!.id)).runtime).toBe('native');
    await store.build(spec);
    expect(native.calls).toEqual(['resolve', 'assemble']);
    const refusingBuilder = createFakeBuilder({
      runtime: 'native',
      resolve: () => Promise.reject(new ImageError('provider_error', 'It needs strict isolation.')),
    });
    expect(await openImages({ python, native: refusingBuilder }).build(spec)).toMatchObject({
      errorCode: 'no_compatible_wheel',
      errorMessage:
        'No wheel of numpy. The native runtime cannot build it either: It needs strict isolation.',
    });
  });
});

describe('an image', () => {
  it('that does not exist or whose build failed is refused with the reason', async () => {
    const javascript = createFakeBuilder({
      assemble: () => Promise.reject(new ImageError('bundle_failed', 'It does not parse.')),
    });
    const clock = createFakeClock();
    const store = openImages({ javascript }, { clock });
    await expect(store.open('missing')).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
    await store.build(IMAGE_SPEC, { name: 'tools' });
    await expect(store.open('tools')).rejects.toMatchObject({
      code: 'IMAGE_FAILED',
      message: 'The image "tools" could not be built (bundle_failed): It does not parse.',
    });
    store.remove('tools');
    await expect(store.open('tools')).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
  });

  it('that is being built is not ready', async () => {
    let finish: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (finish = resolve));
    const workingBuilder = createFakeBuilder();
    const javascript = createFakeBuilder({
      resolve: async (spec, context) => (await gate, workingBuilder.resolve(spec, context)),
    });
    const store = openImages({ javascript });
    const buildPromise = store.build(IMAGE_SPEC, { name: 'tools' });
    await expect.poll(async () => (await store.get('tools'))?.state).toBe('building');
    await expect(store.open('tools')).rejects.toMatchObject({ code: 'IMAGE_NOT_READY' });
    finish();
    await buildPromise;
    expect(await store.open('tools')).toBeDefined();
  });

  it('with a flipped bit is refused with the name of its file, and repaired by another build', async () => {
    const path = createImageFolder();
    const javascript = createFakeBuilder();
    const store = openImages({ javascript }, { folder: path });
    await store.build(IMAGE_SPEC, { name: 'tools' });
    const { path: blobPath, sha256 } = (await store.open('tools')).blobs['bundle.js']!;
    chmodSync(blobPath, 0o644);
    const bytes = readFileSync(blobPath);
    bytes[3]! ^= 1;
    writeFileSync(blobPath, bytes);
    const otherStore = openImages({ javascript }, { folder: path });
    await expect(otherStore.open('tools')).rejects.toMatchObject({
      code: 'IMAGE_FAILED',
      message: expect.stringMatching(`bundle\\.js.*${sha256}`) as string,
    });
    expect(await otherStore.get('tools')).toMatchObject({
      state: 'failed',
      errorCode: 'integrity_error',
      imageId: null,
    });
    expect(await otherStore.build(IMAGE_SPEC)).toMatchObject({ state: 'ready' });
    expect(javascript.calls).toEqual(['resolve', 'assemble', 'assemble']);
    expect(await openImages({ javascript }, { folder: path }).open('tools')).toBeDefined();
  });

  it('is rebuilt from its lock when the runtime changes', async () => {
    const path = createImageFolder();
    const oldBuilder = createFakeBuilder();
    await openImages({ javascript: oldBuilder }, { folder: path }).build(IMAGE_SPEC, { name: 'tools' });
    const javascript = createFakeBuilder({ runtimeKeyParts: async () => ({ engine: '2' }) });
    const store = openImages({ javascript }, { folder: path });
    expect(await store.get('tools')).toMatchObject({ state: 'pending', imageId: null });
    const image = await store.open('tools');
    expect(javascript.calls).toEqual(['assemble']);
    expect(image.id).not.toBe(
      (await openImages({ javascript: oldBuilder }, { folder: path }).open('tools')).id,
    );
  });

  it('built by the native fallback is rebuilt from its lock when the native runtime changes', async () => {
    const path = createImageFolder();
    const createRefusingBuilder = (): ReturnType<typeof createFakeBuilder> =>
      createFakeBuilder({
        resolve: () => Promise.reject(new ImageError('no_compatible_wheel', 'No wheel.')),
      });
    const spec = { language: 'python', dependencies: ['numpy'] };
    const oldBuilder = createFakeBuilder({ runtime: 'native' });
    const firstStore = openImages({ python: createRefusingBuilder(), native: oldBuilder }, { folder: path });
    await firstStore.build(spec, { name: 'figures' });
    const native = createFakeBuilder({ runtime: 'native', runtimeKeyParts: async () => ({ engine: '2' }) });
    const python = createRefusingBuilder();
    const store = openImages({ python, native }, { folder: path });
    expect(await store.open('figures')).toMatchObject({ runtime: 'native', language: 'python' });
    expect([oldBuilder.calls, python.calls, native.calls]).toEqual([
      ['resolve', 'assemble'],
      [],
      ['assemble'],
    ]);
    expect(await store.get('figures')).toMatchObject({ state: 'ready', packages: ['numpy 1.0.0'] });
  });

  it('whose build failed is built again by open() after ten minutes, and by build() immediately', async () => {
    const clock = createFakeClock();
    let fails = true;
    const workingBuilder = createFakeBuilder();
    const javascript = createFakeBuilder({
      resolve: (spec, context) =>
        fails
          ? Promise.reject(new ImageError('rate_limited', 'Too many requests.'))
          : workingBuilder.resolve(spec, context),
    });
    const store = openImages({ javascript }, { clock });
    await store.build(IMAGE_SPEC, { name: 'tools' });
    fails = false;
    clock.advance(599_999);
    await expect(store.open('tools')).rejects.toMatchObject({ code: 'IMAGE_FAILED' });
    clock.advance(1);
    expect(await store.open('tools')).toBeDefined();
    fails = true;
    await store.build({ ...IMAGE_SPEC, dependencies: ['gamma'] });
    fails = false;
    expect(await store.build({ ...IMAGE_SPEC, dependencies: ['gamma'] })).toMatchObject({ state: 'ready' });
  });
});
