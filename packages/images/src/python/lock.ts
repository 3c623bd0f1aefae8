import type { BuildContext, ImageSpec, Lock } from '../builder.ts';
import { ImageError } from '../error.ts';
import type { Target } from './pep/target.ts';
import { type ChosenRelease, resolveRequirements } from './solve/resolution.ts';
import { type PyodideWheelDigests, createPyodideSource } from './sources/pyodide.ts';
import { createIndexSource } from './sources/simple-index.ts';
import type { Source, SourceKind } from './sources/source.ts';
import { createWheelhouseSource } from './sources/wheelhouse.ts';

/** A wheel in a lock, with everything needed to install it again. */
export interface LockedWheel {
  /** Canonical name. */
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  /** `sha256:<hex>` or `sha512:<hex>`. */
  readonly digest: string;
  /** A URL; for a wheel from the wheelhouse, its file name. */
  readonly location: string;
  readonly source: SourceKind;
  readonly requires: readonly string[];
}

/** The data of a Python image's lock. */
export interface PythonLockData {
  readonly wheels: readonly LockedWheel[];
  readonly warnings: readonly string[];
}

const PYPI = 'https://pypi.org/simple/';

/** The interpreter for which wheels are chosen. */
export interface PythonRuntime {
  readonly target: Target;
  /** The SHA-256 of the wheels of the Pyodide distribution, by file name; empty for other interpreters. */
  readonly wheelDigests: PyodideWheelDigests;
}

/**
 * Resolves a specification's dependencies to wheels.
 * @throws ImageError with the codes of `resolveRequirements`, or integrity_error for a wheel without a digest.
 */
export async function lockPythonPackages(
  spec: ImageSpec,
  context: BuildContext,
  runtime: PythonRuntime,
): Promise<Lock> {
  const { chosenReleases, warnings } = await resolveRequirements(spec.dependencies, {
    sources: sourcesOf(context, runtime),
    target: runtime.target,
    signal: context.signal,
  });
  const wheels = chosenReleases.map(toLockedWheel);
  for (const { filename, source } of wheels) context.log(`Chose ${filename} (${source})`);
  const data: PythonLockData = { wheels, warnings };
  return { entries: wheels.map(({ name, version, digest }) => ({ name, version, digest })), data };
}

/**
 * Returns the sources in the order in which they are queried. The wheelhouse and extra indexes come first, so that
 * private names are not requested from the public index.
 */
function sourcesOf(context: BuildContext, { wheelDigests }: PythonRuntime): Source[] {
  const { wheelhouse: folder, index = PYPI, extraIndexes = [], pyodide } = context.registries.python ?? {};
  return [
    ...(folder === undefined ? [] : [createWheelhouseSource(folder)]),
    ...[...extraIndexes, index].map((url) => createIndexSource(url, context)),
    ...(pyodide === undefined ? [] : [createPyodideSource(pyodide, wheelDigests, context)]),
  ];
}

function toLockedWheel({ name, version, availableWheel, requires }: ChosenRelease): LockedWheel {
  const { filename, digest, location, source } = availableWheel;
  if (digest === undefined) throw new ImageError('integrity_error', `There is no digest for ${filename}.`);
  return { name, version, filename, digest, location, source, requires };
}

/** Returns the lock's data from a stored record. Throws ImageError integrity_error. */
export function readLockData({ data }: Lock): PythonLockData {
  const { wheels, warnings } = (data ?? {}) as Partial<PythonLockData>;
  if (!Array.isArray(wheels) || !wheels.every(isLockedWheel) || !Array.isArray(warnings)) {
    throw new ImageError('integrity_error', 'The lock of the image cannot be read. Build the image again.');
  }
  return { wheels, warnings: warnings.map(String) };
}

function isLockedWheel(value: unknown): value is LockedWheel {
  if (typeof value !== 'object' || value === null) return false;
  const wheel = value as Readonly<Record<string, unknown>>;
  const stringFields = ['name', 'version', 'filename', 'digest', 'location', 'source'];
  return stringFields.every((field) => typeof wheel[field] === 'string') && Array.isArray(wheel['requires']);
}
