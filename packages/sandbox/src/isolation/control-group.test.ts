import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { checksOf, readControlGroup } from './control-group.ts';

const GIB = 2 ** 30;
const MACHINE_BYTES = 64 * GIB;
const UNLIMITED = '9223372036854771712';

/** Creates a root folder with these files. */
function createRoot(files: Readonly<Record<string, string>>): string {
  const root = createDataFolder();
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${text}\n`);
  }
  return root;
}

const VERSION_2_MOUNT = '30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate';
const TMPFS_MOUNT = '25 23 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755';

function version1Mounts(mountRoot: string): string {
  const mounts = ['memory', 'pids', 'cpu,cpuacct'].map(
    (controllers, index) =>
      `${31 + index} 25 0:${27 + index} ${mountRoot} /sys/fs/cgroup/${controllers} ro - cgroup cgroup rw,${controllers}`,
  );
  return [TMPFS_MOUNT, ...mounts].join('\n');
}

const readGroup = (files: Readonly<Record<string, string>>) =>
  readControlGroup(createRoot(files), MACHINE_BYTES);

describe('the control group of the host', () => {
  it('is found in a container whose group is the root of its view', () => {
    const group = readGroup({
      'proc/self/mountinfo': VERSION_2_MOUNT,
      'proc/self/cgroup': '0::/',
      'sys/fs/cgroup/memory.max': String(2 * GIB),
      'sys/fs/cgroup/pids.max': '2048',
      'sys/fs/cgroup/memory.oom.group': '0',
    });
    expect(group).toEqual({ memoryBytes: 2 * GIB, maxProcesses: 2048, killsGroup: false });
  });

  it('has the lowest limit of the surrounding groups', () => {
    const group = readGroup({
      'proc/self/mountinfo': VERSION_2_MOUNT,
      'proc/self/cgroup': '0::/system.slice/heddle.service/engine',
      'sys/fs/cgroup/system.slice/memory.max': String(8 * GIB),
      'sys/fs/cgroup/system.slice/heddle.service/memory.max': String(4 * GIB),
      'sys/fs/cgroup/system.slice/heddle.service/memory.oom.group': '1',
      'sys/fs/cgroup/system.slice/heddle.service/engine/memory.max': 'max',
      'sys/fs/cgroup/system.slice/pids.max': '512',
      'sys/fs/cgroup/system.slice/heddle.service/pids.max': 'max',
    });
    expect(group).toEqual({ memoryBytes: 4 * GIB, maxProcesses: 512, killsGroup: true });
  });

  it('has no limits if none are set, or if they exceed the memory of the machine', () => {
    const unlimitedGroup = readGroup({
      'proc/self/mountinfo': VERSION_2_MOUNT,
      'proc/self/cgroup': '0::/user.slice',
      'sys/fs/cgroup/user.slice/memory.max': String(MACHINE_BYTES),
      'sys/fs/cgroup/user.slice/pids.max': 'max',
    });
    expect(unlimitedGroup).toEqual({ memoryBytes: undefined, maxProcesses: undefined, killsGroup: false });
    const version1Group = readGroup({
      'proc/self/mountinfo': version1Mounts('/'),
      'proc/self/cgroup': '4:memory:/a\n3:pids:/\n0::/',
      'sys/fs/cgroup/memory/a/memory.limit_in_bytes': UNLIMITED,
    });
    expect(version1Group).toEqual({ memoryBytes: undefined, maxProcesses: undefined, killsGroup: false });
  });

  it('of version 1 is read from the hierarchy of each controller', () => {
    const group = readGroup({
      'proc/self/mountinfo': `${version1Mounts('/')}\n40 25 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw`,
      'proc/self/cgroup': '5:pids:/b\n4:memory:/a/c\n2:cpu,cpuacct:/\n0::/unified',
      'sys/fs/cgroup/memory/a/memory.limit_in_bytes': String(3 * GIB),
      'sys/fs/cgroup/memory/a/c/memory.limit_in_bytes': UNLIMITED,
      'sys/fs/cgroup/pids/b/pids.max': '99',
    });
    expect(group).toEqual({ memoryBytes: 3 * GIB, maxProcesses: 99, killsGroup: false });
  });

  it('of version 1 is found in a container in which its path is the one outside the container', () => {
    const group = readGroup({
      'proc/self/mountinfo': version1Mounts('/docker/4f2'),
      'proc/self/cgroup': '5:pids:/docker/4f2\n4:memory:/docker/4f2/inner',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': String(3 * GIB),
      'sys/fs/cgroup/memory/inner/memory.limit_in_bytes': String(GIB),
      'sys/fs/cgroup/pids/pids.max': '77',
    });
    expect(group).toEqual({ memoryBytes: GIB, maxProcesses: 77, killsGroup: false });
  });

  it('is unknown if there are no readable control groups', () => {
    expect(readGroup({ 'proc/self/mountinfo': '', 'proc/self/cgroup': '' })).toBeUndefined();
    expect(readGroup({})).toBeUndefined();
    expect(readGroup({ 'proc/self/mountinfo': VERSION_2_MOUNT })).toBeUndefined();
    expect(checksOf(undefined)).toEqual([]);
  });
});

describe('the checks of the control group', () => {
  it('report its limits', () => {
    expect(checksOf({ memoryBytes: 8 * GIB, maxProcesses: 2048, killsGroup: false })).toEqual([
      { name: 'cgroup memory', result: 'ok', found: 'All processes together may have 8.0 GiB of memory' },
      { name: 'cgroup pids', result: 'ok', found: 'The limit is 2,048 processes and threads in total' },
    ]);
  });

  it.each([
    [
      'no limit',
      { memoryBytes: undefined, maxProcesses: undefined },
      [/^There is no limit on the memory or the number of all processes together$/],
    ],
    [
      'no memory limit',
      { memoryBytes: undefined, maxProcesses: 64 },
      [
        /^There is no limit on the memory of all processes together$/,
        /which is below the recommended minimum$/,
      ],
    ],
    [
      'no limit on processes',
      { memoryBytes: GIB / 4, maxProcesses: undefined },
      [
        /which is below the recommended minimum$/,
        /^There is no limit on the number of all processes together$/,
      ],
    ],
    [
      'too little',
      { memoryBytes: GIB / 4, maxProcesses: 64 },
      [
        /256 MiB of memory, which is below the recommended minimum$/,
        /64 .*, which is below the recommended minimum$/,
      ],
    ],
  ])('advise about %s, and never fail', (_, group, patterns) => {
    const checks = checksOf({ ...group, killsGroup: false });
    expect(checks).toEqual(
      patterns.map((pattern) => ({
        name: expect.any(String) as string,
        result: 'off',
        found: expect.stringMatching(pattern) as string,
        hint: expect.any(String) as string,
      })),
    );
  });

  it.each([4 * GIB, undefined])('warn that running out of memory would kill the host', (memoryBytes) => {
    const [memoryCheck] = checksOf({ memoryBytes, maxProcesses: undefined, killsGroup: true });
    expect(memoryCheck).toMatchObject({
      result: 'off',
      found: expect.stringContaining('the kernel kills the host together') as string,
      hint: expect.stringContaining('OOMPolicy=continue') as string,
    });
  });
});
