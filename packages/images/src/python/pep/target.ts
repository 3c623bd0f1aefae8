/** The interpreter of an image: values of environment markers (PEP 508) and wheel tags (PEP 425). */
export interface Target {
  /** Values of environment markers, without `extra`. */
  readonly markers: Readonly<Record<string, string>>;
  /** `python-abi-platform` tags, best first. */
  readonly tags: readonly string[];
}

/** Data of a Pyodide distribution from the head of its lock file. */
export interface Distribution {
  /** For example `3.14.2`. */
  readonly python: string;
  /** For example `2026_0`. */
  readonly abiVersion: string;
  /** For example `emscripten_5_0_3`. */
  readonly platform: string;
}

/** Returns the target for a Pyodide distribution. */
export function targetOf({ python, abiVersion, platform }: Distribution): Target {
  const [major = '3', minor = '0'] = python.split('.');
  return {
    markers: {
      os_name: 'posix',
      sys_platform: 'emscripten',
      platform_machine: 'wasm32',
      platform_python_implementation: 'CPython',
      platform_release: platform.replace(/^emscripten_/, '').replaceAll('_', '.'),
      platform_system: 'Emscripten',
      platform_version: '#1',
      python_version: `${major}.${minor}`,
      python_full_version: python,
      implementation_name: 'cpython',
      implementation_version: python,
    },
    tags: tagsOf(Number(minor), `pyemscripten_${abiVersion}_wasm32`),
  };
}

/**
 * Returns tags in the order of PEP 425 for CPython 3.x: its own ABI, the stable ABI of this and older versions, no ABI,
 * then any platform.
 */
function tagsOf(minor: number, platform: string): string[] {
  const supportedMinors = Array.from({ length: minor - 1 }, (_, offset) => minor - offset);
  const tags = [`cp3${minor}-cp3${minor}-${platform}`];
  for (const version of supportedMinors) tags.push(`cp3${version}-abi3-${platform}`);
  tags.push(`cp3${minor}-none-${platform}`, `py3${minor}-none-${platform}`, `py3-none-${platform}`);
  tags.push(`cp3${minor}-none-any`, `py3${minor}-none-any`, 'py3-none-any');
  for (const version of supportedMinors.slice(1)) tags.push(`py3${version}-none-any`);
  return tags;
}
