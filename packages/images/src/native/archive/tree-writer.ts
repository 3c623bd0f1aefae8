import { createWriteStream, lstatSync, type Stats } from 'node:fs';
import { chmod, link, lstat, mkdir, rm, symlink, readdir, readlink } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { ImageError } from '../../error.ts';

/** Limits of one tree. */
export interface TreeLimits {
  readonly files: number;
  readonly bytes: number;
}

const EXECUTABLE_BITS = 0o111;

/**
 * Writes the files of archives below one folder. Refuses names that lead out of the folder or through a link. Modes are
 * 755 or 644, so no file is setuid or writable by others.
 */
export class TreeWriter {
  readonly #root: string;
  readonly #limits: TreeLimits;
  readonly #name: string;
  #fileCount = 0;
  #byteCount = 0;

  /** `name` is the archive's name in messages. */
  constructor(root: string, limits: TreeLimits, name: string) {
    this.#root = root;
    this.#limits = limits;
    this.#name = name;
  }

  /** Returns the path of an archive entry below the root: relative, without `.`; empty for the root itself. */
  relativePath(entry: string): string {
    const path = posix.normalize(entry.replace(/^(?:\.?\/)+/, '')).replace(/\/+$/, '');
    if (path === '.' || path === '') return '';
    const quotedName = JSON.stringify(entry.slice(0, 100));
    if (/[\0-\x1f]/.test(path))
      throw this.#unsupportedError(`an entry named ${quotedName}, which has a control character in its name`);
    if (entry.split('/').includes('..'))
      throw this.#unsupportedError(`an entry named ${quotedName}, which leads out of the archive`);
    return path;
  }

  /** Counts a skipped entry towards the limits, because it has to be decompressed too. */
  skip(size: number): void {
    this.#count(size);
  }

  async createFolder(path: string): Promise<void> {
    this.#count();
    await this.#createFolders(path);
  }

  async writeFile(
    path: string,
    content: Readable,
    { mode, size }: { mode: number; size: number },
  ): Promise<void> {
    this.#count(size);
    const targetPath = await this.#prepare(path);
    let remainingBytes = size;
    content.on('data', (chunk: Uint8Array) => {
      remainingBytes -= chunk.length;
      if (remainingBytes < 0)
        content.destroy(this.#unsupportedError(`a file ${path} that is larger than its header says`));
    });
    await pipeline(content, createWriteStream(targetPath, { flags: 'wx', mode: 0o644 }));
    await chmod(targetPath, (mode & EXECUTABLE_BITS) === 0 ? 0o644 : 0o755);
  }

  /** Writes a symbolic link. It may be absolute, because processes see the tree as their root. */
  async writeSymlink(path: string, linkTarget: string): Promise<void> {
    this.#count();
    const isAbsolute = linkTarget.startsWith('/');
    const target = isAbsolute ? posix.normalize(linkTarget) : posix.join('/', dirname(path), linkTarget);
    const depth = isAbsolute ? 0 : path.split('/').length - 1;
    const leadingDots = /^(?:\.\.\/)*(?:\.\.$)?/.exec(posix.normalize(linkTarget))?.[0] ?? '';
    const levelsUp = leadingDots.split('..').length - 1;
    if (levelsUp > depth || target.includes('\0'))
      throw this.#unsupportedError(`a link ${path} that leads out of the archive`);
    await symlink(linkTarget, await this.#prepare(path));
  }

  /** Writes a hard link to a file that was written before. */
  async writeHardLink(path: string, existingPath: string): Promise<void> {
    this.#count();
    const sourcePath = join(this.#root, existingPath);
    await this.#checkFolders(dirname(existingPath));
    if (!(await lstat(sourcePath).catch(() => undefined))?.isFile())
      throw this.#unsupportedError(`a link ${path} to a file that it does not contain`);
    await link(sourcePath, await this.#prepare(path));
  }

  /** Adds a file of the store under a path, as a hard link. */
  async linkStoredFile(path: string, sourcePath: string, size: number): Promise<void> {
    this.#count(size);
    await link(sourcePath, await this.#prepare(path));
  }

  #count(bytes = 0): void {
    this.#fileCount++;
    this.#byteCount += bytes;
    if (this.#fileCount > this.#limits.files)
      throw new ImageError('image_too_large', `${this.#name} has more than ${this.#limits.files} files.`);
    if (this.#byteCount > this.#limits.bytes)
      throw new ImageError(
        'image_too_large',
        `${this.#name} has more than ${Math.floor(this.#limits.bytes / 2 ** 20)} MiB unpacked.`,
      );
  }

  /** Returns the path for a new file. Removes an existing file there; refuses an existing folder. */
  async #prepare(path: string): Promise<string> {
    await this.#createFolders(posix.dirname(path));
    const targetPath = join(this.#root, path);
    const existingStat = await lstat(targetPath).catch(() => undefined);
    if (existingStat?.isDirectory() === true)
      throw this.#unsupportedError(`${path}, which is a folder of another package`);
    if (existingStat !== undefined) await rm(targetPath);
    return targetPath;
  }

  async #createFolders(path: string): Promise<void> {
    if (path === '.' || path === '') return;
    await this.#checkFolders(path);
    await mkdir(join(this.#root, path), { recursive: true, mode: 0o755 });
  }

  async #checkFolders(path: string): Promise<void> {
    const segments = path === '.' ? [] : path.split('/');
    for (let count = 1; count <= segments.length; count++) {
      const ancestor = segments.slice(0, count).join('/');
      const ancestorStat: Stats | undefined = lstatSync(join(this.#root, ancestor), {
        throwIfNoEntry: false,
      });
      if (ancestorStat === undefined) return;
      if (!ancestorStat.isDirectory())
        throw this.#unsupportedError(`files below ${ancestor}, which is not a folder`);
    }
  }

  #unsupportedError(content: string): ImageError {
    return new ImageError('unsupported_package', `${this.#name} has ${content}.`);
  }
}

/**
 * Unpacks a tar archive below a folder of the tree. Entries other than files, folders and symbolic links are skipped.
 */
export async function untar(source: Readable, writer: TreeWriter, folder: string): Promise<void> {
  const tar = extract();
  source.on('error', (error) => tar.destroy(error));
  source.pipe(tar);
  for await (const entry of tar) {
    const { name, type, mode, size } = entry.header;
    const path = writer.relativePath(name);
    const targetPath = `${folder}/${path}`;
    if (type === 'file') await writer.writeFile(targetPath, entry as unknown as Readable, { mode, size });
    else if (type === 'symlink') await writer.writeSymlink(targetPath, entry.header.linkname ?? '');
    else if (type === 'directory' && path !== '') await writer.createFolder(targetPath);
    else writer.skip(size);
    entry.resume();
  }
}

/** Merges a tree of the store into another: folders and links are created, files are hard-linked. */
export async function mergeTree(sourceRoot: string, writer: TreeWriter, subfolder = ''): Promise<void> {
  for (const name of (await readdir(join(sourceRoot, subfolder))).sort()) {
    const path = subfolder === '' ? name : `${subfolder}/${name}`;
    const fullPath = join(sourceRoot, path);
    const stat = await lstat(fullPath);
    if (stat.isDirectory()) {
      await writer.createFolder(path);
      await mergeTree(sourceRoot, writer, path);
    } else if (stat.isSymbolicLink()) await writer.writeSymlink(path, await readlink(fullPath));
    else await writer.linkStoredFile(path, fullPath, stat.size);
  }
}
