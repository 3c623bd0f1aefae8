import { Readable } from 'node:stream';
import type { BuildContext } from '../../builder.ts';
import type { LockedWheel } from '../../python/lock.ts';
import type { ArchiveFile } from '../../python/wheels/archive.ts';
import { unpackWheels } from '../../python/wheels/fetch.ts';
import type { UnpackedWheels } from '../../python/wheels/fetch.ts';
import { TreeWriter } from '../archive/tree-writer.ts';
import { MAX_SIZE } from '../limits.ts';

/** Folders for wheels in a root file system, relative to its root. */
export interface WheelFolders {
  readonly root: string;
  /** Folder for modules, such as `opt/heddle/python`. */
  readonly site: string;
  /** Folder for programs, such as `opt/heddle/bin`. */
  readonly programs: string;
}

const ELF_MAGIC = 0x7f45_4c46;
const SCRIPT = /^[^/]+\.data\/scripts\/([A-Za-z0-9._-]+)$/;
const SECTION = /^\[(.*)\]\s*$/;
const ENTRY_POINT = /^\s*([A-Za-z0-9._-]+)\s*=\s*([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)\s*(?:\[.*\])?\s*$/;

/** Returns the programs that a wheel's entry points declare: program name → Python script. */
function readEntryPointPrograms(text: string, site: string): [name: string, program: string][] {
  let section = '';
  return text.split('\n').flatMap((line): [string, string][] => {
    section = SECTION.exec(line)?.[1] ?? section;
    if (section !== 'console_scripts') return [];
    const [, name, module, callable] = ENTRY_POINT.exec(line) ?? [];
    if (name === undefined || module === undefined || callable === undefined) return [];
    const [importedName = ''] = callable.split('.');
    const program = [
      '#!/usr/bin/python3',
      'import sys',
      `sys.path.insert(0, ${JSON.stringify(`/${site}`)})`,
      `from ${module} import ${importedName}`,
      `sys.exit(${callable}())`,
      '',
    ];
    return [[name, program.join('\n')]];
  });
}

/** Returns whether a file is in ELF format. Such files are made executable, because packages may start them. */
function isElf(bytes: Buffer): boolean {
  return bytes.length > 4 && bytes.readUInt32BE(0) === ELF_MAGIC;
}

/** Returns a script of a wheel, with the image's interpreter in its first line if it is a Python script. */
async function scriptOf(file: ArchiveFile, site: string): Promise<Buffer> {
  const bytes = await file.read();
  const [firstLine = ''] = bytes.toString('latin1', 0, 100).split('\n');
  if (!/^#!pythonw?\s*$/.test(firstLine)) return bytes;
  const shebang = `#!/usr/bin/env -S PYTHONPATH=/${site} /usr/bin/python3`;
  return Buffer.concat([Buffer.from(shebang), bytes.subarray(firstLine.length)]);
}

/**
 * Unpacks locked wheels below the root. Runs none of their code, and installs nothing that runs when an interpreter
 * starts.
 */
export async function installWheels(
  wheels: readonly LockedWheel[],
  { root, site, programs }: WheelFolders,
  context: BuildContext,
): Promise<UnpackedWheels> {
  const writer = new TreeWriter(root, MAX_SIZE, 'The Python packages');
  const writeBytes = (path: string, bytes: Buffer, mode: number): Promise<void> =>
    writer.writeFile(path, Readable.from([bytes]), { mode, size: bytes.length });
  return unpackWheels(wheels, context, {
    activity: 'installing',
    onWheel: async ({ files, contents }) => {
      for (const [name, file] of contents.files) {
        const bytes = await file.read();
        await writeBytes(`${site}/${writer.relativePath(name)}`, bytes, isElf(bytes) ? 0o755 : 0o644);
      }
      for (const file of files) {
        const name = SCRIPT.exec(file.path)?.[1];
        if (name !== undefined) await writeBytes(`${programs}/${name}`, await scriptOf(file, site), 0o755);
        if (/^[^/]+\.dist-info\/entry_points\.txt$/.test(file.path))
          for (const [programName, text] of readEntryPointPrograms(
            (await file.read()).toString('utf8'),
            site,
          ))
            await writeBytes(`${programs}/${programName}`, Buffer.from(text), 0o755);
      }
    },
  });
}
