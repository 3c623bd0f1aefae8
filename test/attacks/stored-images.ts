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
  const holder = {} as { hostileImages: HostileImages };
  beforeAll(async () => {
    holder.hostileImages = await openHostileImages();
    for (const name of names) await holder.hostileImages.open(name);
  }, TIMEOUT_MS);
  afterAll(() => holder.hostileImages.close());
  const images: ImageSource = { open: (id) => holder.hostileImages.open(id) };
  return Object.assign(holder, { images });
}

/** Defines the test that the code of one tenant cannot read secrets of another tenant with the same image. */
export function testTenants(
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
function tamper(folder: string, path: string, replace: ReplaceFile): void {
  const original = join(folder, 'original');
  renameSync(path, original);
  onTestFinished(() => {
    rmSync(path, { force: true });
    renameSync(original, path);
  });
  replace(path, original, folder);
}

type ReplaceFile = (path: string, original: string, folder: string) => void;

const CHANGES: readonly [what: string, replace: ReplaceFile][] = [
  [
    'with a flipped bit',
    (path, original) => {
      const bytes = readFileSync(original);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(path, bytes);
    },
  ],
  [
    'that was truncated',
    (path, original) => {
      copyFileSync(original, path);
      truncateSync(path, 1_000);
    },
  ],
  ['that is empty', (path) => writeFileSync(path, '')],
  ['that is a link to the valid one', (path, original) => symlinkSync(original, path)],
  ['that is a link to an endless device', (path) => symlinkSync('/dev/zero', path)],
  [
    'that is a hard link to another file',
    (path, _original, folder) => linkSync(join(folder, 'images.db'), path),
  ],
  ['that is a pipe', (path) => void execFileSync('mkfifo', [path])],
];

/** Defines tests that a changed file of an image is refused by a host that has verified the file, and by a new host. */
export function testStoredFiles(
  holder: { readonly hostileImages: HostileImages },
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
      it.each(changes)('%s is refused with an error that names it', async (_what, replace) => {
        const { hostileImages } = holder;
        const { id, blobs } = await hostileImages.open(image);
        const newHostImages = hostileImages.reopen();
        onTestFinished(() => newHostImages.close());
        tamper(hostileImages.folder, blobs[file]!.path, replace);
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
          const { id } = await holder.hostileImages.open(image);
          expect(formatOutcome(await runWithImage(holder.hostileImages.images, id)).text).toBe('1');
        }
      },
      TIMEOUT_MS,
    );
  });
}
