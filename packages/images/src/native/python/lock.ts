import type { BuildContext, Lock } from '../../builder.ts';
import { lockPythonPackages, readLockData, type PythonLockData } from '../../python/lock.ts';
import { withCredentials } from '../../python/sources/credentials.ts';
import type { DebianPackage } from '../debian/catalogue.ts';
import { nativeTarget } from './target.ts';

/** Returns the context without Pyodide's wheels, because they are not for CPython but for WebAssembly. */
function withoutPyodide(context: BuildContext): BuildContext {
  const { pyodide: _, ...python } = context.registries.python ?? {};
  return { ...context, registries: { ...context.registries, python } };
}

/** Resolves requirements to wheels for the CPython and C library among the chosen packages. */
export async function lockWheels(
  dependencies: readonly string[],
  packages: readonly DebianPackage[],
  context: BuildContext,
): Promise<Lock> {
  const versionOf = (name: string): string =>
    packages.find((candidate) => candidate.name === name)?.version.replace(/^\d+:/, '') ?? '';
  const python = /^\d+\.\d+(?:\.\d+)?/.exec(versionOf('python3'))?.[0] ?? '3.0';
  const glibc = /^\d+\.\d+/.exec(versionOf('libc6'))?.[0] ?? '2.17';
  const spec = { language: 'python', dependencies, cliTools: [], systemPackages: [] } as const;
  const target = nativeTarget({ python, glibc }, process.arch);
  return lockPythonPackages(spec, withoutPyodide(withCredentials(context)), { target, wheelDigests: {} });
}

/** Returns the lock's data from a stored record. */
export function readWheelLock(data: unknown): PythonLockData {
  return readLockData({ entries: [], data });
}
