import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TreeWriter } from './tree-writer.ts';

function createWriter(limits = { files: 3, bytes: 100 }): TreeWriter {
  const root = mkdtempSync(join(tmpdir(), 'heddle-tree-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return new TreeWriter(root, limits, 'The archive');
}

const put = (writer: TreeWriter, path: string, text: string, size = text.length): Promise<void> =>
  writer.writeFile(path, Readable.from([Buffer.from(text)]), { mode: 0o644, size });

describe('a tree writer', () => {
  it('fails with image_too_large beyond its limits of files and bytes', async () => {
    const writer = createWriter();
    for (const name of ['a', 'b', 'c']) await put(writer, name, '');
    await expect(put(writer, 'd', '')).rejects.toMatchObject({ code: 'image_too_large' });
    await expect(put(createWriter(), 'a', '', 101)).rejects.toMatchObject({ code: 'image_too_large' });
  });

  it('refuses a file that is larger than its header says', async () => {
    await expect(put(createWriter(), 'a', 'four', 3)).rejects.toMatchObject({ code: 'unsupported_package' });
  });

  it.each(['', '.', './', '/'])('treats "%s" as its root', (entry) => {
    expect(createWriter().relativePath(entry)).toBe('');
  });

  it.each(['..', 'a/../../b', 'a/../b', '/../a'])(
    'refuses the name %j, which leads out of the archive',
    (entry) => {
      expect(() => createWriter().relativePath(entry)).toThrow(/leads out of the archive/);
    },
  );

  it('refuses a name with a control character', () => {
    expect(() => createWriter().relativePath('a\nb')).toThrow(/has a control character in its name/);
  });

  it.each(['..a', 'a..', '/a/b'])('accepts the name %j', (entry) => {
    expect(createWriter().relativePath(entry)).toBe(entry.replace('/', ''));
  });
});
