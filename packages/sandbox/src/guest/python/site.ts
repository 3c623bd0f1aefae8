/** Folder of an image's packages in the interpreter's file system. */
export const SITE = '/opt/site';

/** The part of Emscripten's file system that is used. */
export interface FileSystem {
  mkdirTree(path: string): void;
  writeFile(path: string, bytes: Uint8Array, options: { canOwn: boolean }): void;
  readFile(path: string): Uint8Array;
}

/** Sizes of ZIP records without names: end of the directory, entry of the directory, header of a file. */
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;

/**
 * Mounts the files of an uncompressed ZIP archive (made by the image builder, its digest verified). The file system
 * refers to the archive's memory, so nothing is copied.
 */
export function mountSite(files: FileSystem, archive: ArrayBuffer): void {
  const view = new DataView(archive);
  const end = archive.byteLength - END_BYTES;
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const folders = new Set<string>();
  for (let index = 0; index < count; index++) {
    const size = view.getUint32(at + 24, true);
    const nameBytes = view.getUint16(at + 28, true);
    const localHeader = view.getUint32(at + 42, true);
    const path = `${SITE}/${new TextDecoder().decode(new Uint8Array(archive, at + ENTRY_BYTES, nameBytes))}`;
    const folder = path.slice(0, path.lastIndexOf('/'));
    if (!folders.has(folder)) files.mkdirTree(folder);
    folders.add(folder);
    const start = localHeader + LOCAL_BYTES + nameBytes;
    files.writeFile(path, new Uint8Array(archive, start, size), { canOwn: true });
    at += ENTRY_BYTES + nameBytes;
  }
}

/**
 * Makes the mounted packages importable after the standard library, and reseeds random generators restored from the
 * snapshot.
 */
export const SITE_SETUP = `import importlib, random, sys
if "${SITE}" not in sys.path: sys.path.append("${SITE}")
importlib.invalidate_caches()
for generator in vars(random).pop("heddle_generators", ()): generator.seed()`;
