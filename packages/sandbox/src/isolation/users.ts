import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { checkTool, failedCheck, passedCheck, type IsolationCheck } from './report.ts';
import type { UidRange } from './process-uid.ts';

const READ_BY_OTHERS = 0o004;
const ENTER_BY_OTHERS = 0o001;

/**
 * Returns the file or folder whose mode prevents other users from reading `path`: the path itself or a parent folder;
 * undefined if they can read it.
 */
export function findUnreadablePath(path: string): string | undefined {
  const stat = statSync(path);
  const neededMode = stat.isDirectory() ? READ_BY_OTHERS | ENTER_BY_OTHERS : READ_BY_OTHERS;
  if ((stat.mode & neededMode) !== neededMode) return path;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & ENTER_BY_OTHERS) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

const CHECK_NAME = 'users';

/** Returns the map of the user ids that exist in this user namespace; without user namespaces, a map of all ids. */
function readUidMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch {
    return '0 0 4294967295';
  }
}

/**
 * Returns whether a user namespace's `map` contains each id of the range. Its lines are: first id inside, first id
 * outside, count.
 */
export function isMapped({ from, to }: UidRange, map: string): boolean {
  const ranges = map.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return ranges.some(([firstId = 0, , count = 0]) => from >= firstId && to < firstId + count);
}

/**
 * Checks whether processes can get separate user ids that can read `files`. `off` means that they keep the host's
 * user.
 */
export function checkUsers(
  setpriv: string | undefined,
  uids: UidRange,
  files: readonly string[],
): IsolationCheck {
  if (process.geteuid?.() !== 0)
    return { name: CHECK_NAME, result: 'off', found: 'The host is not root, so processes run as its user' };
  if (setpriv === undefined)
    return {
      ...checkTool('setpriv', undefined, 'util-linux', 'gives processes separate users'),
      name: CHECK_NAME,
    };
  if (!isMapped(uids, readUidMap())) {
    const found = `Processes run as root, because the users ${uids.from} to ${uids.to} do not exist in this container`;
    return failedCheck(
      CHECK_NAME,
      found,
      'set isolation.uids to existing users, or do not run the host as root',
    );
  }
  for (const file of files.filter((path) => existsSync(path))) {
    const unreadablePath = findUnreadablePath(realpathSync(file));
    if (unreadablePath === undefined) continue;
    const found = `Processes run as root, because no other user can read ${file}`;
    const hint = `chmod o+rX ${unreadablePath}, install Heddle where all users can read, or do not run the host as root`;
    return failedCheck(CHECK_NAME, found, hint);
  }
  return passedCheck(CHECK_NAME, 'Each process gets its own user id');
}
