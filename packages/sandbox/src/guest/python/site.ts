/** Folder of an image's packages in the interpreter's file system. */
export const SITE_FOLDER = '/opt/site';

/** The part of Emscripten's file system that is used. */
export interface FileSystem {
  mkdirTree(path: string): void;
  writeFile(path: string, bytes: Uint8Array, options: { canOwn: boolean }): void;
  readFile(path: string): Uint8Array;
}

/** Sizes of the records of a ZIP file, without file names. */
const END_RECORD_BYTES = 22;
const DIRECTORY_ENTRY_BYTES = 46;
const LOCAL_HEADER_BYTES = 30;

/**
 * Mounts the files of an uncompressed ZIP archive (made by the image builder, its digest verified). The file system
 * refers to the archive's memory, so nothing is copied.
 */
export function mountSite(fileSystem: FileSystem, archive: ArrayBuffer): void {
  const view = new DataView(archive);
  const endRecordOffset = archive.byteLength - END_RECORD_BYTES;
  const fileCount = view.getUint16(endRecordOffset + 10, true);
  let entryOffset = view.getUint32(endRecordOffset + 16, true);
  const folders = new Set<string>();
  for (let index = 0; index < fileCount; index++) {
    const size = view.getUint32(entryOffset + 24, true);
    const nameLength = view.getUint16(entryOffset + 28, true);
    const localHeaderOffset = view.getUint32(entryOffset + 42, true);
    const name = new Uint8Array(archive, entryOffset + DIRECTORY_ENTRY_BYTES, nameLength);
    const path = `${SITE_FOLDER}/${new TextDecoder().decode(name)}`;
    const folder = path.slice(0, path.lastIndexOf('/'));
    if (!folders.has(folder)) fileSystem.mkdirTree(folder);
    folders.add(folder);
    const start = localHeaderOffset + LOCAL_HEADER_BYTES + nameLength;
    fileSystem.writeFile(path, new Uint8Array(archive, start, size), { canOwn: true });
    entryOffset += DIRECTORY_ENTRY_BYTES + nameLength;
  }
}

/**
 * Makes the mounted packages importable; the standard library takes precedence. Reseeds the random generators that were
 * restored from the snapshot.
 */
export const SITE_SETUP = `import importlib, random, sys
if "${SITE_FOLDER}" not in sys.path: sys.path.append("${SITE_FOLDER}")
importlib.invalidate_caches()
for generator in vars(random).pop("heddle_generators", ()): generator.seed()`;
