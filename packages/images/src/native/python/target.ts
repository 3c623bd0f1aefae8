import type { Target } from '../../python/pep/target.ts';

/** Debian's CPython and its C library. */
export interface DebianPython {
  /** Version of CPython, such as `3.11.2`. */
  readonly python: string;
  /** Version of the C library, such as `2.36`. */
  readonly glibc: string;
}

/** Returns the name that wheel tags have for an architecture of Node.js. */
export function machineOf(arch: string): string {
  return arch === 'arm64' ? 'aarch64' : 'x86_64';
}

/** Minor version of the oldest glibc for which manylinux wheels exist, by machine. */
const OLDEST_GLIBC_MINOR: Readonly<Record<string, number>> = { x86_64: 5, aarch64: 17 };

/** Older names of manylinux platforms (PEP 513, 571, 599), by minor version of glibc. */
const OLD_PLATFORM_NAMES: Readonly<Record<number, string>> = {
  5: 'manylinux1',
  12: 'manylinux2010',
  17: 'manylinux2014',
};

function platformsOf(glibc: string, machine: string): string[] {
  const newestMinor = Number(glibc.split('.')[1]);
  const platforms: string[] = [];
  for (let minor = newestMinor; minor >= (OLDEST_GLIBC_MINOR[machine] ?? 17); minor--) {
    platforms.push(`manylinux_2_${minor}_${machine}`);
    const oldName = OLD_PLATFORM_NAMES[minor];
    if (oldName !== undefined) platforms.push(`${oldName}_${machine}`);
  }
  return [...platforms, `linux_${machine}`];
}

/**
 * Returns tags in the order of PEP 425 for CPython 3.x on Linux: its own ABI, the stable ABI of this and older
 * versions, no ABI, then any platform.
 */
function tagsOf(minor: number, platforms: readonly string[]): string[] {
  const supportedMinors = Array.from({ length: minor - 1 }, (_, offset) => minor - offset);
  const tagsWith = (prefix: string): string[] => platforms.map((platform) => `${prefix}-${platform}`);
  return [
    ...tagsWith(`cp3${minor}-cp3${minor}`),
    ...supportedMinors.flatMap((version) => tagsWith(`cp3${version}-abi3`)),
    ...tagsWith(`cp3${minor}-none`),
    ...supportedMinors.flatMap((version) => tagsWith(`py3${version}-none`)),
    ...tagsWith('py3-none'),
    `cp3${minor}-none-any`,
    `py3${minor}-none-any`,
    'py3-none-any',
    ...supportedMinors.slice(1).map((version) => `py3${version}-none-any`),
  ];
}

/** Returns the target for Debian's CPython on an architecture. */
export function nativeTarget({ python, glibc }: DebianPython, arch: string): Target {
  const [major = '3', minor = '0'] = python.split('.');
  const machine = machineOf(arch);
  return {
    markers: {
      os_name: 'posix',
      sys_platform: 'linux',
      platform_machine: machine,
      platform_python_implementation: 'CPython',
      platform_release: '',
      platform_system: 'Linux',
      platform_version: '',
      python_version: `${major}.${minor}`,
      python_full_version: python,
      implementation_name: 'cpython',
      implementation_version: python,
    },
    tags: tagsOf(Number(minor), platformsOf(glibc, machine)),
  };
}
