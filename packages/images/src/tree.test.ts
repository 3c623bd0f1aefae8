import {
  chmodSync,
  cpSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFakeBuilder, createImageFolder, openImages } from '../../../test/support/images.ts';

const SPEC = { language: 'javascript', systemPackages: ['jq'] };

/** A builder of root file systems with a program, a library and a link. */
function createRootfsBuilder(): ReturnType<typeof createFakeBuilder> {
  return createFakeBuilder({
    runtime: 'native',
    async assemble(_lock, _spec, { workFolder }) {
      const rootfs = join(workFolder, 'root');
      mkdirSync(join(rootfs, 'usr/bin'), { recursive: true });
      writeFileSync(join(rootfs, 'usr/bin/jq'), 'a program', { mode: 0o755 });
      writeFileSync(join(rootfs, 'usr/library'), 'a program', { mode: 0o644 });
      symlinkSync('usr/bin', join(rootfs, 'bin'));
      return { blobs: { rootfs }, features: { modules: [] }, warnings: [], tools: {} };
    },
  });
}

const CHANGES: readonly [description: string, change: (root: string) => void][] = [
  ['a file with other content', (root) => writeFileSync(join(root, 'usr/bin/jq'), 'a progrem')],
  ['an additional file', (root) => writeFileSync(join(root, 'usr/bin/evil'), '')],
  ['a missing file', (root) => rmSync(join(root, 'usr/library'))],
  ['an additional folder', (root) => mkdirSync(join(root, 'opt'))],
  ['a file that became executable', (root) => chmodSync(join(root, 'usr/library'), 0o755)],
  ['a setuid file', (root) => chmodSync(join(root, 'usr/bin/jq'), 0o4755)],
  [
    'a link in place of a file with the same content',
    (root) => {
      rmSync(join(root, 'usr/library'));
      symlinkSync('bin/jq', join(root, 'usr/library'));
    },
  ],
  [
    'a link with another target',
    (root) => {
      rmSync(join(root, 'bin'));
      symlinkSync('/etc', join(root, 'bin'));
    },
  ],
  [
    'a link in place of a folder with the same content',
    (root) => {
      renameSync(join(root, 'usr/bin'), join(root, '../bin'));
      symlinkSync('../../bin', join(root, 'usr/bin'));
    },
  ],
  [
    'a hard link to a file of the host',
    (root) => {
      writeFileSync(join(root, '../outside'), 'an outsider');
      rmSync(join(root, 'usr/library'));
      linkSync(join(root, '../outside'), join(root, 'usr/library'));
    },
  ],
  [
    'a link in place of the root folder',
    (root) => {
      cpSync(root, `${root}-copy`, { recursive: true, verbatimSymlinks: true });
      rmSync(root, { recursive: true });
      symlinkSync(`${root}-copy`, root);
    },
  ],
  [
    'a file in place of the root folder',
    (root) => (rmSync(root, { recursive: true }), writeFileSync(root, '')),
  ],
  ['no root folder', (root) => rmSync(root, { recursive: true })],
];

describe('the root of a native image in the store', () => {
  it.each(CHANGES)(
    'with %s is refused with an error that names rootfs, and rebuilt',
    async (_description, change) => {
      const folder = createImageFolder();
      const native = createRootfsBuilder();
      const { id } = await openImages({ native }, { folder }).build(SPEC);
      const openStore = () => openImages({ native }, { folder });
      const { path } = (await openStore().open(id)).blobs['rootfs']!;
      change(path);
      await expect(openStore().open(id)).rejects.toMatchObject({
        code: 'IMAGE_FAILED',
        message: expect.stringContaining('rootfs') as string,
      });
      expect(await openStore().build(SPEC)).toMatchObject({ state: 'ready', errorMessage: null });
      const rebuiltBlob = (await openStore().open(id)).blobs['rootfs']!;
      expect(rebuiltBlob.path).toBe(path);
      expect(readFileSync(join(path, 'usr/library'), 'utf8')).toBe('a program');
      expect(native.calls).toEqual(['resolve']);
    },
  );

  it('that replaced a verified one is verified again by the same process', async () => {
    const store = openImages({ native: createRootfsBuilder() });
    const { id } = await store.build(SPEC);
    const { path } = (await store.open(id)).blobs['rootfs']!;
    renameSync(path, `${path}-before`);
    cpSync(`${path}-before`, path, { recursive: true, verbatimSymlinks: true });
    writeFileSync(join(path, 'usr/bin/evil'), '');
    await expect(store.open(id)).rejects.toMatchObject({ code: 'IMAGE_FAILED' });
  });
});
