import { createZip, type ZipEntry } from './zip.ts';

/** A wheel for a test. */
export interface FixtureWheel {
  readonly name: string;
  /** Default 1.0. */
  readonly version?: string;
  /** Default py3-none-any. */
  readonly tags?: string;
  readonly requires?: readonly string[];
  /** The value of Requires-Python. */
  readonly requiresPython?: string;
  /** Contents by path; default: one module with the name of the package. */
  readonly files?: Readonly<Record<string, string>>;
  /** Additional entries of the archive. */
  readonly entries?: readonly ZipEntry[];
}

/** Returns the name of the wheel's file. */
export function formatWheelFilename({ name, version = '1.0', tags = 'py3-none-any' }: FixtureWheel): string {
  return `${name.replaceAll('-', '_')}-${version}-${tags}.whl`;
}

/** Returns the text of the wheel's METADATA file. */
export function formatWheelMetadata({
  name,
  version = '1.0',
  requires = [],
  requiresPython,
}: FixtureWheel): string {
  const lines = ['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`];
  if (requiresPython !== undefined) lines.push(`Requires-Python: ${requiresPython}`);
  return [...lines, ...requires.map((text) => `Requires-Dist: ${text}`), '', 'About it.'].join('\n');
}

/** Returns the bytes of the wheel. */
export function encodeWheel(wheel: FixtureWheel): Buffer {
  const { name, version = '1.0', tags = 'py3-none-any', entries = [] } = wheel;
  const module = name.replaceAll('-', '_');
  const files = wheel.files ?? { [`${module}.py`]: `VALUE = '${name} ${version}'\n` };
  const distInfoFolder = `${module}-${version}.dist-info`;
  return createZip([
    ...Object.entries(files).map(([path, content]) => ({ path, content })),
    ...entries,
    { path: `${distInfoFolder}/METADATA`, content: formatWheelMetadata(wheel) },
    { path: `${distInfoFolder}/WHEEL`, content: `Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: ${tags}\n` },
    { path: `${distInfoFolder}/RECORD`, content: '' },
  ]);
}
