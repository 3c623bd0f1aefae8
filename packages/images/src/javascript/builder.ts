import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DEFAULT_LIMITS, sandboxVersions, type IsolationOptions } from '@heddle/sandbox';
import {
  JAVASCRIPT_IMAGE_FILE,
  SHIMS_FILE,
  type ImageReport,
  type ModuleFailure,
} from '@heddle/sandbox/build';
import type { AssembledImage, BuildContext, ImageBuilder, Lock } from '../builder.ts';
import { ImageError, isImageError } from '../error.ts';
import { dependencyName } from '../grammar.ts';
import { sha256 } from '../keys.ts';
import { BUNDLE_REVISION, type Bundle } from './bundle.ts';
import { bundleAllModules, type PackageBundle } from './bundle-all.ts';
import { readNpmLock, type ScriptedPackage } from './lockfile.ts';
import { BundleLoader } from './bundle-loader.ts';
import { findNpm } from './npm-settings.ts';
import { installNpmLock, lockNpmPackages, npmDependencies } from './npm-project.ts';
import { Npm } from './npm.ts';
import { MAX_SIZE } from './size.ts';

export interface JavaScriptBuilderOptions {
  /** Path of npm-cli.js, or false for no npm; default: the one next to Node.js. */
  readonly npm?: string | false | undefined;
  /** Confinement of npm and of the processes that load packages, as for `createSandbox`. */
  readonly isolation?: IsolationOptions;
  /**
   * `cpuMs` and `memoryMiB` limit the loading of the packages; default: the limits of a run. `files` and `bytes` limit
   * the installation; default 50,000 files and 500 MiB.
   */
  readonly limits?: {
    readonly cpuMs?: number;
    readonly memoryMiB?: number;
    readonly files?: number;
    readonly bytes?: number;
  };
}

const MAX_SNAPSHOT_BYTES = 64 * 2 ** 20;

/** Returns the error for modules that failed to load. */
function loadFailure(
  modules: readonly ModuleFailure[],
  { addons }: Bundle,
  context: BuildContext,
): ImageError {
  for (const { module, message, stack } of modules) context.log(`${module}: ${message}\n${stack}`);
  const addonFailure = modules.find(({ message }) => addons.some((addon) => message.includes(addon)));
  const unsupportedFailure = addonFailure ?? modules.find(({ builtin }) => builtin);
  const { module, message } = (unsupportedFailure ?? modules[0]) as ModuleFailure;
  const subject = module === '' ? 'The packages' : `The package ${module}`;
  return unsupportedFailure === undefined
    ? new ImageError('load_failed', `${subject} cannot be loaded: ${message}`)
    : new ImageError('unsupported_package', `${subject} cannot run in the sandbox: ${message}.`);
}

function limitFailure(
  report: { readonly t: 'limit'; readonly limit: 'time' | 'memory' } | { readonly t: 'died' },
  { cpuMs, memoryMiB }: { cpuMs: number; memoryMiB: number },
): ImageError {
  if (report.t === 'died')
    return new ImageError(
      'load_failed',
      `The process that loads the packages ended early. They may need more than ${memoryMiB} MiB of memory.`,
    );
  return report.limit === 'time'
    ? new ImageError('load_failed', `The packages take more than ${cpuMs} ms to load.`)
    : new ImageError('load_failed', `The packages need more than ${memoryMiB} MiB of memory to load.`);
}

function warningsOf(
  { missingBuiltins, warnings: bundleWarnings }: PackageBundle,
  scriptedNames: readonly string[],
  report: Extract<ImageReport, { t: 'made' }>,
): string[] {
  const warnings = [...bundleWarnings];
  if (missingBuiltins.length > 0)
    warnings.push(
      `Packages import the Node.js builtins ${missingBuiltins.join(', ')}: functions that use them fail.`,
    );
  if (scriptedNames.length > 0) warnings.push(`Install scripts were not run: ${scriptedNames.join(', ')}.`);
  if (report.kind === 'cache') warnings.push(`The packages are loaded for each run, because ${report.why}.`);
  return warnings;
}

/** Builds images of npm packages for the isolate. */
export function javascriptBuilder(options: JavaScriptBuilderOptions = {}): ImageBuilder {
  const { cpuMs, memoryMiB, files, bytes } = { ...DEFAULT_LIMITS, ...MAX_SIZE, ...options.limits };
  const npmPath = options.npm === false ? undefined : (options.npm ?? findNpm(undefined));
  const npm = new Npm(npmPath, { files, bytes }, options.isolation);
  const loader = new BundleLoader(options.isolation);
  const require = createRequire(import.meta.url);
  const { version: esbuildVersion } = require('esbuild/package.json') as { version: string };

  return {
    runtime: 'isolate',
    async runtimeKeyParts() {
      return {
        isolatedVm: sandboxVersions().isolatedVm,
        node: process.versions.node,
        v8: process.versions.v8,
        system: `${process.platform}-${process.arch}`,
        bundler: `${esbuildVersion} ${BUNDLE_REVISION}`,
        maker: sha256(await readFile(JAVASCRIPT_IMAGE_FILE)),
        shims: sha256(await readFile(SHIMS_FILE)),
      };
    },

    async resolve(spec, context): Promise<Lock> {
      const { lock, entries } = await lockNpmPackages(npm, npmDependencies(spec), context);
      return { entries, data: lock };
    },

    async assemble(lock, spec, context): Promise<AssembledImage> {
      const npmLock = readNpmLock(lock.data);
      context.reportProgress('installing');
      const { folder, scriptedPackages } = await installNpmLock(npm, npmLock, context);
      const scriptedNames = scriptedPackages.map(({ name }) => name);
      context.reportProgress('bundling');
      const modules = spec.dependencies.map((entry) => dependencyName(entry, 'javascript'));
      const bundle = await bundleAllModules(folder, modules, context).catch((error: unknown) => {
        throw explainMissingScript(error, scriptedPackages);
      });
      context.reportProgress('loading');
      const report = await loader.load(
        { code: bundle.code, modules, cpuMs, memoryMiB, snapshot: true },
        context.signal,
      );
      if (report.t === 'failed') throw loadFailure(report.modules, bundle, context);
      if (report.t === 'limit' || report.t === 'died') throw limitFailure(report, { cpuMs, memoryMiB });
      return writeFiles({ bundle, report, modules, scriptedNames }, context, esbuildVersion);
    },
  };
}

/** Returns the error to throw for `error`. If an install script would have created a missing file, it explains this. */
function explainMissingScript(error: unknown, scriptedPackages: readonly ScriptedPackage[]): unknown {
  if (!isImageError(error) || error.code !== 'bundle_failed') return error;
  const unbuiltPackage = scriptedPackages.find(({ name }) => error.message.includes(`${name}/`));
  if (unbuiltPackage === undefined) return error;
  return new ImageError(
    'unsupported_package',
    `The package ${unbuiltPackage.name} needs its install script, which runs only in native images: ${error.message}`,
  );
}

interface BuiltBundle {
  readonly bundle: PackageBundle;
  readonly report: Extract<ImageReport, { t: 'made' }>;
  readonly modules: readonly string[];
  readonly scriptedNames: readonly string[];
}

/** Writes the files of the image to the work folder. */
async function writeFiles(
  { bundle, report, modules, scriptedNames }: BuiltBundle,
  context: BuildContext,
  esbuildVersion: string,
): Promise<AssembledImage> {
  const isSnapshot = report.kind === 'snapshot';
  if (isSnapshot && report.data.length > MAX_SNAPSHOT_BYTES)
    throw new ImageError('image_too_large', 'The loaded packages take more than 64 MiB of memory.');
  const codeFile = join(context.workFolder, 'bundle.js');
  const dataFile = join(context.workFolder, 'loaded');
  await writeFile(codeFile, bundle.code);
  await writeFile(dataFile, report.data);
  return {
    blobs: { 'bundle.js': codeFile, [isSnapshot ? 'snapshot.bin' : 'code-cache.bin']: dataFile },
    features: { snapshot: isSnapshot, modules },
    warnings: warningsOf(bundle, scriptedNames, report),
    tools: { esbuild: esbuildVersion, node: process.versions.node },
  };
}
