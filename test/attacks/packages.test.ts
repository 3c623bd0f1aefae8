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
import { createSandbox, type FunctionOutcome } from '@heddle/sandbox';
import type { ImageSource } from '@heddle/sandbox/images';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { dose } from '../support/dose.ts';
import { ending } from './attack.ts';
import { openHostileImages, type HostileImage, type HostileImages } from './hostile-images.ts';
import { packages } from './javascript/packages.ts';
import { levels, type Level } from './levels.ts';
import { livingOf, processesOf } from './processes.ts';
import { pythonPackages } from './python/packages.ts';
import { sampleOf, testAttacks, useArena } from './suite.ts';

const WAIT_MS = 180_000;
const highest = levels.at(-1) as Level;

let hostile: HostileImages;
beforeAll(async () => {
  hostile = await openHostileImages();
  const scripts = ['kept', 'replaces', 'pollutes', 'freezes', 'lingers'].reduce<Promise<unknown>>(
    (before, name) => before.then(() => hostile.open(name)),
    Promise.resolve(),
  );
  await Promise.all([hostile.open('wheels'), scripts]);
}, WAIT_MS);
afterAll(() => hostile.close());

const images: ImageSource = { open: (id) => hostile.open(id) };

testAttacks(packages, { sandbox: { images } });
// An interpreter for each attack takes its time, and what these try ends before the operating system is asked.
const sandbox = { images, python: { maxProcesses: 1 } };
testAttacks(pythonPackages, { sandbox, at: levels.slice(0, 1) });
testAttacks(sampleOf(pythonPackages, dose(4, 1)), { sandbox, at: levels.slice(1) });

describe('a build of hostile packages', () => {
  const holder = useArena(highest);

  it.each<[what: string, dependencies: string[], message: RegExp]>([
    ['hide that others cannot be loaded', ['covers', 'buries'], /buries cannot be loaded: under the carpet/],
    ['close the global object', ['seals'], /cannot be loaded: .*not extensible/],
    ['take the names that the plumbing defines', ['occupies'], /occupies cannot be loaded: .*__heddleImage/],
    ['forge what the builder is told', ['reports'], /reports cannot be loaded: .*report/],
    ['leave a rejected promise', ['rejects'], /nobody handles it/],
    ['go on in microtasks without end', ['turns'], /take more than 2000 ms|more than 64 MiB/],
    ['take memory outside of the heap', ['swells'], /allocation failed|more than 64 MiB/],
  ])('fails where they %s', { timeout: WAIT_MS }, async (_what, dependencies, message) => {
    const { arena } = holder;
    await arena.reset();
    const { errorCode, errorMessage } = await hostile.build(dependencies);
    expect({ errorCode, errorMessage }).toEqual({
      errorCode: 'load_failed',
      errorMessage: expect.stringMatching(message) as string,
    });
    expect(await arena.harm(errorMessage)).toEqual([]);
    expect(ending(await arena.sandbox.run({ runId: 'next', code: 'return 1' })).text).toBe('1');
  });
});

describe('the name of an image', () => {
  const holder = useArena(highest, { sandbox: { images } });

  it.each([
    '../../etc/passwd',
    '/etc/passwd',
    'file:///etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    'kept/../kept',
    'kept\0',
    "' OR 1=1 --",
    '__proto__',
    '%',
    '',
    'a'.repeat(100_000),
    '0'.repeat(64),
  ])('that leads elsewhere is unknown: %j', async (image) => {
    const { arena } = holder;
    await arena.reset();
    const outcome = await arena.sandbox.run({ runId: 'run', code: 'return 1', image });
    expect(ending(outcome).exact).toBe('IMAGE_NOT_FOUND');
    expect(await arena.harm(outcome)).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('tenants with an image in common', () => {
  it.each([
    [
      'javascript' as const,
      'kept',
      'const r = require("remembers"); r.keep("secret"); return 1',
      'return require("remembers").tell()',
    ],
    [
      'python' as const,
      'wheels',
      'import remembers\nremembers.keep("secret")\nreturn 1',
      'import remembers\nreturn remembers.tell()',
    ],
  ])(
    'have no process in common, and %s keeps nothing of one for the other',
    { timeout: WAIT_MS },
    async (language, image, keep, tell) => {
      const sandbox = createSandbox({
        ...highest.options,
        images,
        maxProcesses: 2,
        python: { maxProcesses: 2 },
      });
      onTestFinished(() => sandbox.close());
      const before = new Set(livingOf(processesOf(process.pid)));
      const run = (tenant: string, code: string) =>
        sandbox.run({ runId: 'run', tenant, language, image, code });
      expect(ending(await run('a', keep)).text).toBe('1');
      const own = livingOf(processesOf(process.pid)).filter((pid) => !before.has(pid));
      const told = ending(await run('b', tell)).text;
      expect(new Set(JSON.parse(told) as unknown[])).toEqual(new Set([null]));
      const all = livingOf(processesOf(process.pid)).filter((pid) => !before.has(pid));
      expect(all.length).toBeGreaterThan(own.length);
    },
  );
});

/** Puts something else in the place of a stored file for the time of a test. */
function tamper(path: string, put: (path: string, sound: string) => void): void {
  const sound = join(hostile.folder, 'sound');
  renameSync(path, sound);
  onTestFinished(() => {
    rmSync(path, { force: true });
    renameSync(sound, path);
  });
  put(path, sound);
}

const TAMPERED: readonly [what: string, put: (path: string, sound: string) => void][] = [
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
  ['that is a link to the sound one', (path, sound) => symlinkSync(sound, path)],
  ['that is a link to a device without end', (path) => symlinkSync('/dev/zero', path)],
  ['that is a hard link to another file', (path) => linkSync(join(hostile.folder, 'images.db'), path)],
  ['that is a pipe', (path) => void execFileSync('mkfifo', [path])],
];

const FILES: readonly [file: string, image: HostileImage][] = [
  ['snapshot.bin', 'kept'],
  ['bundle.js', 'kept'],
  ['bundle.js', 'lingers'],
  ['code-cache.bin', 'lingers'],
  ['memory.snap', 'wheels'],
  ['site.zip', 'wheels'],
];

describe.runIf(process.platform === 'linux')('a file in the store of images', () => {
  const use = async (source: ImageSource, id: string, image: HostileImage): Promise<FunctionOutcome> => {
    const sandbox = createSandbox({ ...highest.options, images: source });
    onTestFinished(() => sandbox.close());
    const language = image === 'wheels' ? 'python' : 'javascript';
    return sandbox.run({ runId: 'run', language, code: 'return 1', image: id });
  };

  describe.each(FILES)('%s of the image %s', (file, image) => {
    it.each(TAMPERED)('%s is refused by name', async (_what, put) => {
      const { id, blobs } = await hostile.open(image);
      const again = hostile.reopen();
      onTestFinished(() => again.close());
      tamper(blobs[file]!.path, put);
      // By a host that has not seen the file before, and by one that has.
      for (const source of [again, hostile.images]) {
        const { exact, text } = ending(await use(source, id, image));
        expect([exact, text]).toEqual(['IMAGE_FAILED', expect.stringContaining(file) as string]);
      }
    });
  });

  it('that was put right again serves', { timeout: WAIT_MS }, async () => {
    for (const image of ['kept', 'lingers', 'wheels'] as const) {
      const { id } = await hostile.open(image);
      expect(ending(await use(hostile.images, id, image)).text).toBe('1');
    }
  });
});
