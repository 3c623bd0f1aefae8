import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { BuildContext, ImageSpec, LockEntry } from '../builder.ts';
import { ImageError } from '../error.ts';
import { dependencyName, npmRange } from '../grammar.ts';
import { readLockfile, type NpmLock, type ScriptedPackage } from './lockfile.ts';
import type { Npm } from './npm.ts';
import { checkInstalledPackages } from './size.ts';

/**
 * Returns the packages of a specification: name → range. Throws resolution_conflict for a package that is named twice.
 */
export function npmDependencies(spec: ImageSpec): Record<string, string> {
  const dependencies: Record<string, string> = {};
  for (const entry of spec.dependencies) {
    const name = dependencyName(entry, 'javascript');
    if (Object.hasOwn(dependencies, name))
      throw new ImageError(
        'resolution_conflict',
        `The package ${name} is listed twice, with different version ranges.`,
      );
    dependencies[name] = npmRange(entry);
  }
  return dependencies;
}

async function createProject(files: Partial<NpmLock>, context: BuildContext): Promise<string> {
  const folder = join(context.workFolder, `npm-${randomUUID()}`);
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), files.packageJson ?? '{}');
  if (files.lockfile !== undefined) await writeFile(join(folder, 'package-lock.json'), files.lockfile);
  return folder;
}

/** Resolves packages (name → range) to a lock. */
export async function lockNpmPackages(
  npm: Npm,
  dependencies: Readonly<Record<string, string>>,
  context: BuildContext,
): Promise<{ lock: NpmLock; entries: readonly LockEntry[] }> {
  const packageJson = JSON.stringify({ name: 'image', version: '0.0.0', private: true, dependencies });
  const folder = await createProject({ packageJson }, context);
  await npm.run(['install', '--package-lock-only'], folder, context);
  const lockfile = await readFile(join(folder, 'package-lock.json'), 'utf8');
  return { lock: { packageJson, lockfile }, entries: readLockfile(lockfile).entries };
}

/**
 * Installs the packages of a lock without running scripts. Returns the project folder, its `node_modules`, and the
 * packages with scripts.
 */
export async function installNpmLock(
  npm: Npm,
  lock: NpmLock,
  context: BuildContext,
): Promise<{ folder: string; nodeModules: string; scriptedPackages: readonly ScriptedPackage[] }> {
  const { scriptedPackages } = readLockfile(lock.lockfile);
  const folder = await createProject(lock, context);
  await npm.run(['ci'], folder, context);
  const nodeModules = join(folder, 'node_modules');
  await checkInstalledPackages(nodeModules, npm.maxSize);
  return { folder, nodeModules, scriptedPackages };
}
