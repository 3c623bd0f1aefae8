import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { IsolationOptions } from '@heddle/sandbox';
import { BOOT_FOLDER, NativeHost } from '@heddle/sandbox/build';
import type { BuildContext, ImageBuilder, ImageSpec, Lock, LockEntry } from '../builder.ts';
import { ImageError } from '../error.ts';
import { Npm } from '../javascript/npm.ts';
import { findNpm } from '../javascript/npm-settings.ts';
import type { PythonLockData } from '../python/lock.ts';
import { assembleRoot } from './assemble.ts';
import { RootJobRunner } from './root-job-runner.ts';
import { debianArchitecture, readArchives } from './debian/archive-index.ts';
import { archivesOf } from './debian/archives.ts';
import type { DebianPackage } from './debian/catalogue.ts';
import { closureOf, parseRequest } from './debian/closure.ts';
import { MAX_SIZE } from './limits.ts';
import { readNativeLock, type LockedTool, type NativeLockData } from './lock.ts';
import type { NpmLock } from '../javascript/lockfile.ts';
import { lockNpmPackages, npmDependencies } from '../javascript/npm-project.ts';
import { lockWheels } from './python/lock.ts';
import { ASSUMED_PACKAGES, basePackages } from './root.ts';
import { checkRecipe, lockTool, recipeOf } from './tools/lock-tools.ts';

export interface NativeBuilderOptions {
  /**
   * Confinement of npm and of the processes that load packages: the same options as `isolation` of `createSandbox`. The
   * level must be `strict`.
   */
  readonly isolation?: IsolationOptions;
  /** Path of npm-cli.js, or false for no npm; default: the one next to Node.js. */
  readonly npm?: string | false | undefined;
  /** Checksums of publishers' files that the operator trusts: id of a command-line tool → SHA-256 in hexadecimal. */
  readonly checksums?: Readonly<Record<string, string>>;
}

/** Part of the runtime key. Increment it if the same lock produces a different root file system. */
const REVISION = 2;

/** Returns the digest of the files that start code in the sandbox. */
async function digestOfBootFiles(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(BOOT_FOLDER)).sort())
    hash.update(name).update(await readFile(join(BOOT_FOLDER, name)));
  return hash.digest('hex');
}

interface LockedDependencies {
  readonly npm: NpmLock | null;
  readonly python: PythonLockData | null;
  readonly entries: readonly LockEntry[];
}

async function lockDependencies(
  spec: ImageSpec,
  { npm, packages }: { npm: Npm; packages: readonly DebianPackage[] },
  context: BuildContext,
): Promise<LockedDependencies> {
  if (spec.dependencies.length === 0) return { npm: null, python: null, entries: [] };
  if (spec.language === 'javascript') {
    const { lock, entries } = await lockNpmPackages(npm, npmDependencies(spec), context);
    return { npm: lock, python: null, entries };
  }
  const { data, entries } = await lockWheels(spec.dependencies, packages, context);
  return { npm: null, python: data as PythonLockData, entries };
}

/** Resolves everything that an image consists of. Throws ImageError. */
async function lockNative(
  spec: ImageSpec,
  { npm, checksums }: { npm: Npm; checksums: Readonly<Record<string, string>> },
  context: BuildContext,
): Promise<Lock> {
  // Checked first, because this needs no requests.
  const recipes = spec.cliTools.map(recipeOf);
  for (const recipe of recipes) checkRecipe(recipe, checksums);
  const { catalogue, warnings } = await readArchives(archivesOf(context.registries.debian), context);
  const architecture = debianArchitecture();
  const needsPython = recipes.some(({ install }) => install.from === 'pypi');
  const requests = [...basePackages(spec, needsPython), ...spec.systemPackages];
  const packages = closureOf(
    requests.map((entry) => parseRequest(entry, architecture)),
    catalogue,
    ASSUMED_PACKAGES,
  );
  const debs = packages.map(({ name, version, url, sha256 }) => ({ name, version, url, sha256 }));
  const entries: LockEntry[] = debs.map(({ name, version, sha256 }) => ({
    name,
    version,
    digest: `sha256:${sha256}`,
  }));
  const tools: LockedTool[] = [];
  for (const { id } of recipes) {
    const lockResult = await lockTool(id, { npm, packages, checksums }, context);
    tools.push(lockResult.tool);
    entries.push(...lockResult.entries);
  }
  const dependencies = await lockDependencies(spec, { npm, packages }, context);
  const data: NativeLockData = { debs, tools, npm: dependencies.npm, python: dependencies.python, warnings };
  return { entries: [...entries, ...dependencies.entries], data };
}

/** Builds images with system packages, command-line tools and native code: a root file system of Debian packages. */
export function nativeBuilder(options: NativeBuilderOptions = {}): ImageBuilder {
  const host = new NativeHost(options.isolation, process.execPath);
  const npmProgram = options.npm === false ? undefined : (options.npm ?? findNpm(undefined));
  const npm = new Npm(npmProgram, MAX_SIZE, options.isolation);
  const checksums = options.checksums ?? {};

  const requireSupportedHost = async (): Promise<void> => {
    const refusal = await host.findRefusal();
    if (refusal !== undefined) throw new ImageError('provider_error', refusal);
  };

  return {
    runtime: 'native',

    async runtimeKeyParts() {
      return {
        revision: String(REVISION),
        node: process.versions.node,
        system: `${process.platform}-${process.arch}`,
        boot: await digestOfBootFiles(),
      };
    },

    async resolve(spec, context): Promise<Lock> {
      await requireSupportedHost();
      return lockNative(spec, { npm, checksums }, context);
    },

    async assemble(lock, spec, context) {
      await requireSupportedHost();
      const data = readNativeLock(lock.data);
      const root = join(context.workFolder, 'rootfs');
      const rootJobRunner = new RootJobRunner(root, host, context);
      const { modules, warnings } = await assembleRoot(root, { spec, data, npm, rootJobRunner }, context);
      return {
        blobs: { rootfs: root },
        features: { modules },
        warnings,
        tools: { node: process.versions.node },
      };
    },
  };
}
