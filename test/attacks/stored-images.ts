import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type FunctionOutcome, type ImageSource } from '@heddle/sandbox';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sample } from '../support/scale.ts';
import { formatOutcome, type AttackGroup } from './attack.ts';
import { openHostileImages, type HostileImage, type HostileImages } from './hostile-images.ts';
import { levels, type Level } from './levels.ts';
import { watchNewProcesses } from './processes.ts';
import { watchHost } from './watch.ts';

const TIMEOUT_MS = 180_000;
const highestLevel = levels.at(-1) as Level;

type Language = AttackGroup['language'];

/** Opens images of hostile packages. Builds the named images before the first test. */
export function useHostileImages(...names: readonly HostileImage[]): {
  readonly hostileImages: HostileImages;
  readonly images: ImageSource;
} {
  const hostileImagesRef = {} as { hostileImages: HostileImages };
  beforeAll(async () => {
    hostileImagesRef.hostileImages = await openHostileImages();
    for (const name of names) await hostileImagesRef.hostileImages.open(name);
  }, TIMEOUT_MS);
  afterAll(() => hostileImagesRef.hostileImages.close());
  const images: ImageSource = { open: (id) => hostileImagesRef.hostileImages.open(id) };
  return Object.assign(hostileImagesRef, { images });
}

/** Defines the test that the code of one tenant cannot read secrets of another tenant with the same image. */
export function testTenantIsolation(
  { images }: { readonly images: ImageSource },
  language: Language,
  image: HostileImage,
  [storeSecretCode, readSecretCode]: readonly [storeSecretCode: string, readSecretCode: string],
): void {
  describe.runIf(process.platform === 'linux')('tenants that share an image', () => {
    watchHost();

    it(
      'share no process, and modules keep no state between them',
      async () => {
        const sandbox = createSandbox({
          ...highestLevel.options,
          images,
          maxProcesses: 2,
          python: { maxProcesses: 2 },
        });
        onTestFinished(() => sandbox.close());
        const readNewPids = watchNewProcesses();
        const run = (tenant: string, code: string) =>
          sandbox.run({ runId: 'run', tenant, language, image, code });
        expect(formatOutcome(await run('a', storeSecretCode)).text).toBe('1');
        const firstPids = readNewPids();
        const output = formatOutcome(await run('b', readSecretCode)).text;
        expect(new Set(JSON.parse(output) as unknown[])).toEqual(new Set([null]));
        const allPids = readNewPids();
        expect(allPids.length).toBeGreaterThan(firstPids.length);
      },
      TIMEOUT_MS,
    );
  });
}

/** Replaces a stored file during a test. */
function tamperWithFile(folder: string, path: string, replace: ReplaceFile): void {
  const originalPath = join(folder, 'original');
  renameSync(path, originalPath);
  onTestFinished(() => {
    rmSync(path, { force: true });
    renameSync(originalPath, path);
  });
  replace(path, originalPath, folder);
}

type ReplaceFile = (path: string, originalPath: string, folder: string) => void;

const CHANGES: readonly [title: string, replace: ReplaceFile][] = [
  [
    'with a flipped bit',
    (path, originalPath) => {
      const bytes = readFileSync(originalPath);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(path, bytes);
    },
  ],
  [
    'that was truncated',
    (path, originalPath) => {
      copyFileSync(originalPath, path);
      truncateSync(path, 1_000);
    },
  ],
  ['that is empty', (path) => writeFileSync(path, '')],
  ['that is a link to the valid one', (path, originalPath) => symlinkSync(originalPath, path)],
  ['that is a link to an endless device', (path) => symlinkSync('/dev/zero', path)],
  [
    'that is a hard link to another file',
    (path, _originalPath, folder) => linkSync(join(folder, 'images.db'), path),
  ],
  ['that is a pipe', (path) => void execFileSync('mkfifo', [path])],
];

/** Defines tests that a changed file of an image is refused by a host that has verified the file, and by a new host. */
export function testStoredFiles(
  hostileImagesRef: { readonly hostileImages: HostileImages },
  language: Language,
  files: readonly (readonly [file: string, image: HostileImage])[],
): void {
  const runWithImage = async (source: ImageSource, id: string): Promise<FunctionOutcome> => {
    const sandbox = createSandbox({ ...highestLevel.options, images: source });
    onTestFinished(() => sandbox.close());
    return sandbox.run({ runId: 'run', language, code: 'return 1', image: id });
  };

  describe.runIf(process.platform === 'linux')('a stored file of an image', () => {
    watchHost();

    describe.each(files)('%s of %s', (file, image) => {
      const changes = sample(CHANGES, 2, `changes of the stored ${file} of ${image}`);
      it.each(changes)('%s is refused with an error that names it', async (_title, replace) => {
        const { hostileImages } = hostileImagesRef;
        const { id, blobs } = await hostileImages.open(image);
        const newHostImages = hostileImages.reopen();
        onTestFinished(() => newHostImages.close());
        tamperWithFile(hostileImages.folder, blobs[file]!.path, replace);
        for (const source of [newHostImages, hostileImages.images]) {
          const { jsonOrCode, text } = formatOutcome(await runWithImage(source, id));
          expect([jsonOrCode, text]).toEqual(['IMAGE_FAILED', expect.stringContaining(file) as string]);
        }
      });
    });

    it(
      'is used again after it is restored',
      async () => {
        for (const image of new Set(files.map(([, name]) => name))) {
          const { id } = await hostileImagesRef.hostileImages.open(image);
          expect(formatOutcome(await runWithImage(hostileImagesRef.hostileImages.images, id)).text).toBe('1');
        }
      },
      TIMEOUT_MS,
    );
  });
}
