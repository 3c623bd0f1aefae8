import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { createImageFolder } from '../../../../test/support/images.ts';
import { checkInstalledPackages } from './size.ts';

const MAX_SIZE = { files: 10, bytes: 1_000 };

it('packages within the limits, with links to each other, are accepted', async () => {
  const folder = createImageFolder();
  mkdirSync(join(folder, 'a'));
  mkdirSync(join(folder, '.bin'));
  writeFileSync(join(folder, 'a', 'cli.js'), 'x'.repeat(900));
  symlinkSync('../a/cli.js', join(folder, '.bin', 'a'));
  await expect(checkInstalledPackages(folder, MAX_SIZE)).resolves.toBeUndefined();
});

it('a link that leads out of the packages is refused, relative or not', async () => {
  for (const target of ['../../outside', '/etc/passwd']) {
    const folder = createImageFolder();
    symlinkSync(target, join(folder, 'link'));
    await expect(checkInstalledPackages(folder, MAX_SIZE)).rejects.toMatchObject({
      code: 'unsupported_package',
    });
  }
});

it('too many files and too many bytes are refused', async () => {
  const manyFilesFolder = createImageFolder();
  for (let index = 0; index < 11; index++) writeFileSync(join(manyFilesFolder, `${index}`), '');
  await expect(checkInstalledPackages(manyFilesFolder, MAX_SIZE)).rejects.toMatchObject({
    code: 'image_too_large',
  });
  const largeFileFolder = createImageFolder();
  writeFileSync(join(largeFileFolder, 'a'), 'x'.repeat(1_001));
  await expect(checkInstalledPackages(largeFileFolder, MAX_SIZE)).rejects.toMatchObject({
    code: 'image_too_large',
  });
});

it('a size watch stopped during a check does not keep its process alive', async () => {
  const folder = createImageFolder();
  for (let index = 0; index < 500; index++) writeFileSync(join(folder, `${index}`), '');
  const script = `
    import { watchSize } from ${JSON.stringify(new URL('./size.ts', import.meta.url).href)};
    const watch = watchSize(${JSON.stringify(folder)}, { files: 1e6, bytes: 1e9 }, new AbortController().signal);
    // The first check starts after a second, so it is in progress at each of these times.
    setTimeout(() => setImmediate(watch.stop), 1000);`;
  const args = ['--conditions=@heddle/source', '--input-type=module', '--eval', script];
  await expect(promisify(execFile)(process.execPath, args, { timeout: 20_000 })).resolves.toMatchObject({
    stderr: '',
  });
});
