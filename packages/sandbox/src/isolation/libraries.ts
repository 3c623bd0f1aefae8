import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

/** Folders that every dynamic loader searches by default. */
const STANDARD_FOLDER = /^(\/usr)?\/lib(32|64)?(\/[a-z0-9_]+-linux-[a-z0-9]+)?$/;

/** Constants of 64-bit ELF files. The interpreter of a program is its dynamic loader. */
const ELF_MAGIC = 0x7f45_4c46;
const SEGMENT_INTERPRETER = 3;
const HEADER_BYTES = 64;

function readAt(descriptor: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
}

/**
 * Returns the loader that an executable names; '' if it needs none; undefined if the file is not a 64-bit ELF
 * program.
 */
function loaderOf(file: string): string | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const header = readAt(descriptor, 0, HEADER_BYTES);
    const is64 = header.length === HEADER_BYTES && header[4] === 2;
    if (!is64 || header.readUInt32BE(0) !== ELF_MAGIC) return undefined;
    const [programHeaderCount, programHeaderBytes] = [header.readUInt16LE(56), header.readUInt16LE(54)];
    const table = readAt(
      descriptor,
      Number(header.readBigUInt64LE(32)),
      programHeaderCount * programHeaderBytes,
    );
    for (let offset = 0; offset + programHeaderBytes <= table.length; offset += programHeaderBytes) {
      if (table.readUInt32LE(offset) !== SEGMENT_INTERPRETER) continue;
      const pathBytes = readAt(
        descriptor,
        Number(table.readBigUInt64LE(offset + 8)),
        Number(table.readBigUInt64LE(offset + 32)),
      );
      return pathBytes.toString('latin1').replace(/\0.*$/, '');
    }
    return '';
  } finally {
    closeSync(descriptor);
  }
}

function listLibraries(loader: string, file: string): string[] {
  // The loader's own listing does not run the file.
  const { status, stdout, stderr, error } = spawnSync(loader, ['--list', file], { encoding: 'utf8' });
  if (error !== undefined || status !== 0) {
    throw new Error(`${loader} --list ${file} failed: ${error?.message ?? stderr.trim()}`);
  }
  const paths = [...stdout.matchAll(/=> (\/\S+) \(0x/g)].map((match) => match[1] as string);
  return [loader, ...paths];
}

const librariesByProgram = new Map<string, readonly string[]>();

/**
 * Returns the shared libraries of a program and its addons at the paths where the loader finds them, the loader first.
 * Throws if a library is missing.
 */
export function librariesOf(program: string, addons: readonly string[]): readonly string[] {
  const key = [program, ...addons].join('\0');
  const cachedLibraries = librariesByProgram.get(key);
  if (cachedLibraries !== undefined) return cachedLibraries;
  const loader = loaderOf(realpathSync(program));
  const binaries = loader ? [program, ...addons.filter((addon) => loaderOf(addon) !== undefined)] : [];
  const libraries = [...new Set(binaries.flatMap((file) => listLibraries(loader as string, file)))];
  librariesByProgram.set(key, libraries);
  return libraries;
}

/** Returns the library folders that the loader does not search by default. */
export function customFolders(libraries: readonly string[]): string[] {
  const folders = libraries.slice(1).map((library) => dirname(library));
  return [...new Set(folders)].filter((folder) => !STANDARD_FOLDER.test(folder));
}

/** A root file system with Node.js and its libraries, and nothing else of the host. */
export interface MinimalRootFileSystem {
  readonly execPath: string;
  /** Files that are mounted at their own paths. */
  readonly readablePaths: readonly string[];
  /** Environment variables that Node.js needs there. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Returns the root file system for the programs of an image builder. */
export function minimalRootFileSystem(): MinimalRootFileSystem {
  const execPath = realpathSync(process.execPath);
  const readablePaths = librariesOf(execPath, []);
  const folders = customFolders(readablePaths);
  return {
    execPath,
    readablePaths,
    environment: folders.length > 0 ? { LD_LIBRARY_PATH: folders.join(':') } : {},
  };
}
