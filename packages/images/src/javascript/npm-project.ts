import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { BuildContext, ImageSpec, LockEntry } from '../builder.ts';
import { ImageError } from '../error.ts';
import { dependencyName, npmRange } from '../grammar.ts';
import { readLockfile, type NpmLock, type ScriptedPackage } from './lockfile.ts';
import type { Npm } from './npm.ts';
import { checkInstalled } from './size.ts';

/** The packages that a spec asks for: name → range. Throws resolution_conflict for one that is asked for twice. */
export function npmDependencies(spec: ImageSpec): Record<string, string> {
  const dependencies: Record<string, string> = {};
  for (const entry of spec.dependencies) {
    const name = dependencyName(entry, 'javascript');
    if (Object.hasOwn(dependencies, name))
      throw new ImageError('resolution_conflict', `The package ${name} is asked for in two versions.`);
    dependencies[name] = npmRange(entry);
  }
  return dependencies;
}

async function project(files: Partial<NpmLock>, context: BuildContext): Promise<string> {
  const folder = join(context.workFolder, `npm-${randomUUID()}`);
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), files.packageJson ?? '{}');
  if (files.lockfile !== undefined) await writeFile(join(folder, 'package-lock.json'), files.lockfile);
  return folder;
}

/** The packages that fulfil ranges together: name → range. */
export async function lockNpm(
  npm: Npm,
  dependencies: Readonly<Record<string, string>>,
  context: BuildContext,
): Promise<{ lock: NpmLock; entries: readonly LockEntry[] }> {
  const packageJson = JSON.stringify({ name: 'image', version: '0.0.0', private: true, dependencies });
  const folder = await project({ packageJson }, context);
  await npm.run(['install', '--package-lock-only'], folder, context);
  const lockfile = await readFile(join(folder, 'package-lock.json'), 'utf8');
  return { lock: { packageJson, lockfile }, entries: readLockfile(lockfile).entries };
}

/** The packages of a lock, installed without scripts: their project, its folder `node_modules`, and those that have scripts. */
export async function installNpm(
  npm: Npm,
  lock: NpmLock,
  context: BuildContext,
): Promise<{ folder: string; modules: string; scripted: readonly ScriptedPackage[] }> {
  const { scripted } = readLockfile(lock.lockfile);
  const folder = await project(lock, context);
  await npm.run(['ci'], folder, context);
  const modules = join(folder, 'node_modules');
  await checkInstalled(modules, npm.most);
  return { folder, modules, scripted };
}
