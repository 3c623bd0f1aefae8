import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

/** Folders in which every loader looks without being told. */
const STANDARD_FOLDER = /^(\/usr)?\/lib(32|64)?(\/[a-z0-9_]+-linux-[a-z0-9]+)?$/;

const ELF_MAGIC = 0x7f45_4c46;
const SEGMENT_INTERPRETER = 3;
const HEADER_BYTES = 64;

function readAt(descriptor: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
}

/** The loader that an executable names, null where it needs none, undefined where the file is no program for 64 bits. */
function loaderOf(file: string): string | null | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const header = readAt(descriptor, 0, HEADER_BYTES);
    const is64 = header.length === HEADER_BYTES && header[4] === 2;
    if (!is64 || header.readUInt32BE(0) !== ELF_MAGIC) return undefined;
    const [entries, size] = [header.readUInt16LE(56), header.readUInt16LE(54)];
    const table = readAt(descriptor, Number(header.readBigUInt64LE(32)), entries * size);
    for (let at = 0; at + size <= table.length; at += size) {
      if (table.readUInt32LE(at) !== SEGMENT_INTERPRETER) continue;
      const text = readAt(
        descriptor,
        Number(table.readBigUInt64LE(at + 8)),
        Number(table.readBigUInt64LE(at + 32)),
      );
      return text.toString('latin1').replace(/\0.*$/, '');
    }
    return null;
  } finally {
    closeSync(descriptor);
  }
}

function listed(loader: string, file: string): string[] {
  // The loader's own listing: it runs nothing of the file.
  const { status, stdout, stderr, error } = spawnSync(loader, ['--list', file], { encoding: 'utf8' });
  if (error !== undefined || status !== 0) {
    throw new Error(`${loader} --list ${file} failed: ${error?.message ?? stderr.trim()}`);
  }
  const paths = [...stdout.matchAll(/=> (\/\S+) \(0x/g)].map((match) => match[1] as string);
  return [loader, ...paths];
}

const known = new Map<string, readonly string[]>();

/**
 * The shared libraries of a program and its addons at the paths under which they are looked for, the loader first.
 * Throws where a library is missing.
 */
export function librariesOf(program: string, addons: readonly string[]): readonly string[] {
  const key = [program, ...addons].join('\0');
  const before = known.get(key);
  if (before !== undefined) return before;
  const loader = loaderOf(realpathSync(program));
  const binaries = loader ? [program, ...addons.filter((addon) => loaderOf(addon) !== undefined)] : [];
  const libraries = [...new Set(binaries.flatMap((file) => listed(loader as string, file)))];
  known.set(key, libraries);
  return libraries;
}

/** The folders of libraries that the loader has to be told of. */
export function unusualFolders(libraries: readonly string[]): string[] {
  const folders = libraries.slice(1).map((library) => dirname(library));
  return [...new Set(folders)].filter((folder) => !STANDARD_FOLDER.test(folder));
}

/** A root that has Node.js and what it loads, and nothing else of the host. */
export interface BareRoot {
  readonly execPath: string;
  /** Files that appear at their own paths. */
  readonly readable: readonly string[];
  /** What Node.js has to be told. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What the sandbox of a builder's own program begins with. */
export function bareRoot(): BareRoot {
  const execPath = realpathSync(process.execPath);
  const readable = librariesOf(execPath, []);
  const folders = unusualFolders(readable);
  return {
    execPath,
    readable,
    environment: folders.length > 0 ? { LD_LIBRARY_PATH: folders.join(':') } : {},
  };
}
