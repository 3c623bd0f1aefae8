import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { BuildContext, LockEntry } from '../builder.ts';
import { readLockfile, type NpmLock, type ScriptedPackage } from '../javascript/lockfile.ts';
import type { Npm } from '../javascript/npm.ts';
import { checkInstalled } from '../javascript/size.ts';

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

/** The folder `node_modules` of a lock, installed without scripts, and the packages that have some. */
export async function installNpm(
  npm: Npm,
  lock: NpmLock,
  context: BuildContext,
): Promise<{ folder: string; scripted: readonly ScriptedPackage[] }> {
  const { scripted } = readLockfile(lock.lockfile);
  const folder = await project(lock, context);
  await npm.run(['ci'], folder, context);
  const modules = join(folder, 'node_modules');
  await checkInstalled(modules, npm.most);
  return { folder: modules, scripted };
}
