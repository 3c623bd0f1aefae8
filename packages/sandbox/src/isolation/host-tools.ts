import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** The programs of the host that confine processes, by absolute path; null where there is none. */
export interface HostTools {
  readonly bubblewrap: string | null;
  /** Becomes another user; needed where the host is root. */
  readonly setpriv: string | null;
  /** Sets limits on resources. */
  readonly prlimit: string | null;
}

/** Where a system keeps its programs. Not PATH: a program found through a folder of somebody else's would run as root. */
export const TOOL_FOLDERS = [
  '/usr/bin',
  '/bin',
  '/usr/sbin',
  '/sbin',
  '/usr/local/bin',
  '/run/current-system/sw/bin',
];

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The tools of this host; `bubblewrap` is the path of one that stands elsewhere. */
export function findHostTools(bubblewrap: string | undefined): HostTools {
  const find = (name: string): string | null =>
    TOOL_FOLDERS.map((folder) => join(folder, name)).find(isExecutable) ?? null;
  const given = bubblewrap === undefined ? find('bwrap') : isExecutable(bubblewrap) ? bubblewrap : null;
  return { bubblewrap: given, setpriv: find('setpriv'), prlimit: find('prlimit') };
}
