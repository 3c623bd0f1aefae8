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
import { ending, type AttackGroup } from './attack.ts';
import { openHostileImages, type HostileImage, type HostileImages } from './hostile-images.ts';
import { levels, type Level } from './levels.ts';
import { newProcesses } from './processes.ts';
import { watchHost } from './watch.ts';

const WAIT_MS = 180_000;
const highest = levels.at(-1) as Level;

type Language = AttackGroup['language'];

/** Opens images of hostile packages. Builds the named images before the first test. */
export function useHostileImages(...names: readonly HostileImage[]): {
  readonly hostile: HostileImages;
  readonly images: ImageSource;
} {
  const holder = {} as { hostile: HostileImages };
  beforeAll(async () => {
    holder.hostile = await openHostileImages();
    for (const name of names) await holder.hostile.open(name);
  }, WAIT_MS);
  afterAll(() => holder.hostile.close());
  const images: ImageSource = { open: (id) => holder.hostile.open(id) };
  return Object.assign(holder, { images });
}

/** Defines the tests that code of one tenant cannot read secrets of another tenant with the same image. */
export function testTenants(
  { images }: { readonly images: ImageSource },
  language: Language,
  image: HostileImage,
  [keep, tell]: readonly [keep: string, tell: string],
): void {
  describe.runIf(process.platform === 'linux')('tenants that share an image', () => {
    watchHost();

    it(
      'share no process, and modules keep no state between them',
      async () => {
        const sandbox = createSandbox({
          ...highest.options,
          images,
          maxProcesses: 2,
          python: { maxProcesses: 2 },
        });
        onTestFinished(() => sandbox.close());
        const started = newProcesses();
        const run = (tenant: string, code: string) =>
          sandbox.run({ runId: 'run', tenant, language, image, code });
        expect(ending(await run('a', keep)).text).toBe('1');
        const own = started();
        const output = ending(await run('b', tell)).text;
        expect(new Set(JSON.parse(output) as unknown[])).toEqual(new Set([null]));
        const all = started();
        expect(all.length).toBeGreaterThan(own.length);
      },
      WAIT_MS,
    );
  });
}

/** Replaces a stored file during a test. */
function tamper(folder: string, path: string, put: Put): void {
  const sound = join(folder, 'sound');
  renameSync(path, sound);
  onTestFinished(() => {
    rmSync(path, { force: true });
    renameSync(sound, path);
  });
  put(path, sound, folder);
}

type Put = (path: string, sound: string, folder: string) => void;

const TAMPERED: readonly [what: string, put: Put][] = [
  [
    'with a flipped bit',
    (path, sound) => {
      const bytes = readFileSync(sound);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(path, bytes);
    },
  ],
  [
    'that was cut short',
    (path, sound) => {
      copyFileSync(sound, path);
      truncateSync(path, 1_000);
    },
  ],
  ['that is empty', (path) => writeFileSync(path, '')],
  ['that is a link to the valid one', (path, sound) => symlinkSync(sound, path)],
  ['that is a link to an endless device', (path) => symlinkSync('/dev/zero', path)],
  [
    'that is a hard link to another file',
    (path, _sound, folder) => linkSync(join(folder, 'images.db'), path),
  ],
  ['that is a pipe', (path) => void execFileSync('mkfifo', [path])],
];

/** Expects that changed files in the store are not run, neither by a host that has verified them nor by a new host. */
export function testStoredFiles(
  holder: { readonly hostile: HostileImages },
  language: Language,
  files: readonly (readonly [file: string, image: HostileImage])[],
): void {
  const use = async (source: ImageSource, id: string): Promise<FunctionOutcome> => {
    const sandbox = createSandbox({ ...highest.options, images: source });
    onTestFinished(() => sandbox.close());
    return sandbox.run({ runId: 'run', language, code: 'return 1', image: id });
  };

  describe.runIf(process.platform === 'linux')('a file in the store of images', () => {
    watchHost();

    describe.each(files)('%s of the image %s', (file, image) => {
      const changes = sample(TAMPERED, 2, `changes of the stored ${file} of ${image}`);
      it.each(changes)('%s is refused by name', async (_what, put) => {
        const { hostile } = holder;
        const { id, blobs } = await hostile.open(image);
        const again = hostile.reopen();
        onTestFinished(() => again.close());
        tamper(hostile.folder, blobs[file]!.path, put);
        for (const source of [again, hostile.images]) {
          const { exact, text } = ending(await use(source, id));
          expect([exact, text]).toEqual(['IMAGE_FAILED', expect.stringContaining(file) as string]);
        }
      });
    });

    it(
      'a restored file is used again',
      async () => {
        for (const image of new Set(files.map(([, name]) => name))) {
          const { id } = await holder.hostile.open(image);
          expect(ending(await use(holder.hostile.images, id)).text).toBe('1');
        }
      },
      WAIT_MS,
    );
  });
}
