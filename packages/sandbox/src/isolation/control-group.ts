import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { IsolationCheck } from './report.ts';

/** Cgroup limits on the host process and everything that it starts; undefined for no limit. */
export interface ControlGroup {
  readonly memoryBytes: number | undefined;
  readonly maxProcesses: number | undefined;
  /** True if an out-of-memory kill ends all processes in the group, including the host. */
  readonly killsGroup: boolean;
}

/** The cgroup folders of this process for a controller, its own group first, then the parents. */
interface Hierarchy {
  readonly version: 1 | 2;
  readonly folders: readonly string[];
}

interface Mount {
  readonly root: string;
  readonly mountPoint: string;
  readonly type: string;
  readonly controllers: readonly string[];
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** Minimum memory for the host, one job process and one build. */
const MIN_MEMORY_BYTES = GIB;
const MIN_PROCESSES = 256;

const LIMIT_FILES = {
  memory: { 1: 'memory.limit_in_bytes', 2: 'memory.max' },
  pids: { 1: 'pids.max', 2: 'pids.max' },
} as const;

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Parses a line of mountinfo: `id parent device root point options … - type source super-options`. */
function parseMount(line: string): Mount | undefined {
  const [mountFields = '', typeFields = ''] = line.split(' - ');
  const [, , , root, mountPoint] = mountFields.split(' ');
  const [type = '', , options = ''] = typeFields.split(' ');
  if (root === undefined || mountPoint === undefined || !type.startsWith('cgroup')) return undefined;
  return { root, mountPoint, type, controllers: options.split(',') };
}

/**
 * Returns the group's path below the mount point. A path that is not below the mount's root, as a container may see it,
 * refers to the mount point itself.
 */
function pathInMount({ root }: Mount, path: string): string {
  if (root === '/') return path.startsWith('/..') ? '/' : path;
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : '/';
}

function readHierarchy(controller: keyof typeof LIMIT_FILES, rootFolder: string): Hierarchy | undefined {
  const mounts = (readIfPresent(join(rootFolder, 'proc/self/mountinfo')) ?? '').split('\n').map(parseMount);
  const groups = (readIfPresent(join(rootFolder, 'proc/self/cgroup')) ?? '')
    .split('\n')
    .map((line) => line.split(':'));
  const version1Mount = mounts.find(
    (mount) => mount?.type === 'cgroup' && mount.controllers.includes(controller),
  );
  const mount = version1Mount ?? mounts.find((candidate) => candidate?.type === 'cgroup2');
  if (mount === undefined) return undefined;
  const version = mount === version1Mount ? 1 : 2;
  const group = groups.find(([id, names = '']) =>
    version === 1 ? names.split(',').includes(controller) : id === '0' && names === '',
  );
  if (group === undefined) return undefined;
  const pathSegments = pathInMount(mount, group.slice(2).join(':')).split('/').filter(Boolean);
  const folders = [...pathSegments, ''].map((_, index) =>
    join(rootFolder, mount.mountPoint, ...pathSegments.slice(0, pathSegments.length - index)),
  );
  return { version, folders };
}

/** Returns the lowest limit of the surrounding groups. Limits at or above `ceiling` count as none. */
function lowestLimit(
  controller: keyof typeof LIMIT_FILES,
  rootFolder: string,
  ceiling: number,
): number | undefined {
  const hierarchy = readHierarchy(controller, rootFolder);
  if (hierarchy === undefined) return undefined;
  const file = LIMIT_FILES[controller][hierarchy.version];
  const limits = hierarchy.folders
    .map((folder) => Number.parseInt(readIfPresent(join(folder, file)) ?? '', 10))
    .filter((limit) => limit < ceiling);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** Returns the cgroup limits of this process; undefined if `rootFolder` has no readable control groups. */
export function readControlGroup(rootFolder = '/', machineBytes = totalmem()): ControlGroup | undefined {
  const memoryHierarchy = readHierarchy('memory', rootFolder);
  const pidsHierarchy = readHierarchy('pids', rootFolder);
  if (memoryHierarchy === undefined && pidsHierarchy === undefined) return undefined;
  const killsGroup =
    memoryHierarchy?.version === 2 &&
    memoryHierarchy.folders.some((folder) => readIfPresent(join(folder, 'memory.oom.group')) === '1');
  return {
    memoryBytes: lowestLimit('memory', rootFolder, machineBytes),
    maxProcesses: lowestLimit('pids', rootFolder, Number.MAX_SAFE_INTEGER),
    killsGroup,
  };
}

const formatSize = (bytes: number): string =>
  bytes < GIB ? `${Math.floor(bytes / MIB)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;

const unlimitedCheck = (name: string, resource: string): IsolationCheck => ({
  name,
  result: 'off',
  found: `There is no limit on ${resource} of all processes together`,
  hint: 'give the container or the unit a limit (docs/sandbox.md, "Control groups")',
});

function checkMemory({ memoryBytes, killsGroup }: ControlGroup): IsolationCheck {
  const name = 'cgroup memory';
  if (killsGroup)
    return {
      name,
      result: 'off',
      found: 'If memory runs out, the kernel kills the host together with the process that used it',
      hint: 'switch memory.oom.group off: OOMPolicy=continue of the unit, singleProcessOOMKill of the kubelet',
    };
  if (memoryBytes === undefined) return unlimitedCheck(name, 'the memory');
  const found = `All processes together may have ${formatSize(memoryBytes)} of memory`;
  if (memoryBytes >= MIN_MEMORY_BYTES) return { name, result: 'ok', found };
  return {
    name,
    result: 'off',
    found: `${found}, which is below the recommended minimum`,
    hint: `give them ${formatSize(MIN_MEMORY_BYTES)} or more: Python takes 200 MiB for each process, a build of an image up to 2 GiB`,
  };
}

function checkProcesses({ maxProcesses }: ControlGroup): IsolationCheck {
  const name = 'cgroup pids';
  if (maxProcesses === undefined) return unlimitedCheck(name, 'the number');
  const found = `The limit is ${maxProcesses.toLocaleString('en-US')} processes and threads in total`;
  if (maxProcesses >= MIN_PROCESSES) return { name, result: 'ok', found };
  return {
    name,
    result: 'off',
    found: `${found}, which is below the recommended minimum`,
    hint: `allow ${MIN_PROCESSES} or more: a process that runs code may have 64 threads`,
  };
}

/**
 * Returns checks of the cgroup limits of this process. They do not affect the isolation level: each process has its own
 * limits, and these are a second line of defence. Empty if there are no control groups.
 */
export const checkControlGroup = (): IsolationCheck[] => checksOf(readControlGroup());

/** Returns checks of cgroup limits; none without control groups. */
export function checksOf(group: ControlGroup | undefined): IsolationCheck[] {
  if (group === undefined) return [];
  if (group.memoryBytes === undefined && group.maxProcesses === undefined && !group.killsGroup)
    return [unlimitedCheck('cgroup', 'the memory or the number')];
  return [checkMemory(group), checkProcesses(group)];
}
