import type { Readable } from 'node:stream';
import { extract } from 'tar-stream';
import type { TreeWriter } from './tree-writer.ts';

/** Unpacks a tar archive below a folder of the tree; what is neither file, folder nor symbolic link is left out. */
export async function untar(source: Readable, writer: TreeWriter, folder: string): Promise<void> {
  const tar = extract();
  source.on('error', (error) => tar.destroy(error));
  source.pipe(tar);
  for await (const entry of tar) {
    const { name, type, mode, size } = entry.header;
    const path = writer.path(name);
    const place = `${folder}/${path}`;
    if (type === 'file') await writer.file(place, entry as unknown as Readable, { mode, size });
    else if (type === 'symlink') await writer.link(place, entry.header.linkname ?? '');
    else if (type === 'directory' && path !== '') await writer.folder(place);
    else writer.skip(size);
    entry.resume();
  }
}
