import { gzipSync } from 'node:zlib';

/** An entry of a tar archive. It may have a name that occurs only in hostile archives. */
export interface TarEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** `0` a file, `1` a hard link, `2` a symbolic link, `3` a device, `5` a folder. */
  readonly type?: '0' | '1' | '2' | '3' | '5';
  /** Default 0o644. */
  readonly mode?: number;
  readonly linkTarget?: string;
}

function createHeader({ path, type = '0', linkTarget = '', mode = 0o644 }: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write(path, 0, 100);
  block.write(`${mode.toString(8).padStart(7, '0')}\0`, 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(linkTarget, 157, 100);
  block.write('ustar\0' + '00', 257);
  const checksum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** Returns a tar archive with the entries, in their order. */
export function createTar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? '');
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
    return [createHeader(entry, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** Returns a gzipped tar archive with the entries. */
export function createTarball(entries: readonly TarEntry[]): Buffer {
  return gzipSync(createTar(entries));
}
