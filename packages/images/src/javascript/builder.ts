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
import type { Assembled, BuildContext, ImageBuilder, Lock } from '../builder.ts';
import { ImageError, isImageError } from '../error.ts';
import { dependencyName } from '../grammar.ts';
import { sha256 } from '../keys.ts';
import { BUNDLE_REVISION, type Bundle } from './bundle.ts';
import { bundleWhole, type WholeBundle } from './bundle-whole.ts';
import { readNpmLock, type ScriptedPackage } from './lockfile.ts';
import { BundleLoader } from './bundle-loader.ts';
import { findNpm } from './npm-settings.ts';
import { installNpm, lockNpm, npmDependencies } from './npm-project.ts';
import { Npm } from './npm.ts';
import { MAX_SIZE } from './size.ts';

export interface JavaScriptBuilderOptions {
  /** The file npm-cli.js; default: the one beside Node.js. */
  readonly npm?: string | null;
  /** How npm and the processes that load packages are confined, as for `createSandbox`. */
  readonly isolation?: IsolationOptions;
  /** Below the defaults: those of a run for loading, 50,000 files and 500 MiB for what is installed. */
  readonly limits?: {
    readonly cpuMs?: number;
    readonly memoryMiB?: number;
    readonly files?: number;
    readonly bytes?: number;
  };
}

const MAX_SNAPSHOT_BYTES = 64 * 2 ** 20;

/** The error of modules that could not be loaded. */
function loadFailure(
  modules: readonly ModuleFailure[],
  { addons }: Bundle,
  context: BuildContext,
): ImageError {
  for (const { module, message, stack } of modules) context.log(`${module}: ${message}\n${stack}`);
  const native = modules.find(({ message }) => addons.some((addon) => message.includes(addon)));
  const needy = native ?? modules.find(({ builtin }) => builtin);
  const { module, message } = (needy ?? modules[0]) as ModuleFailure;
  const who = module === '' ? 'The packages' : `The package ${module}`;
  return needy === undefined
    ? new ImageError('load_failed', `${who} cannot be loaded: ${message}`)
    : new ImageError('unsupported_package', `${who} cannot run in the sandbox: ${message}.`);
}

function limitFailure(
  report: { readonly t: 'limit'; readonly limit: 'time' | 'memory' } | { readonly t: 'died' },
  { cpuMs, memoryMiB }: { cpuMs: number; memoryMiB: number },
): ImageError {
  return report.t === 'limit' && report.limit === 'time'
    ? new ImageError('load_failed', `The packages take more than ${cpuMs} ms to load.`)
    : new ImageError('load_failed', `The packages need more than ${memoryMiB} MiB of memory to load.`);
}

function warningsOf(
  { missing, warnings: found }: WholeBundle,
  scripted: readonly string[],
  kept: Extract<ImageReport, { t: 'made' }>,
): string[] {
  const warnings = [...found];
  if (missing.length > 0)
    warnings.push(
      `Packages import ${missing.join(', ')} of Node.js: what needs them fails when it is called.`,
    );
  if (scripted.length > 0) warnings.push(`Install scripts were not run: ${scripted.join(', ')}.`);
  if (kept.kind === 'cache') warnings.push(`The packages are loaded anew for each run, since ${kept.why}.`);
  return warnings;
}

/** Builds images of npm packages for the isolate. */
export function javascriptBuilder(options: JavaScriptBuilderOptions = {}): ImageBuilder {
  const { cpuMs, memoryMiB, files, bytes } = { ...DEFAULT_LIMITS, ...MAX_SIZE, ...options.limits };
  const program = options.npm === undefined ? findNpm(undefined) : options.npm;
  const npm = new Npm(program, { files, bytes }, options.isolation);
  const loader = new BundleLoader(options.isolation);
  const require = createRequire(import.meta.url);
  const { version: bundler } = require('esbuild/package.json') as { version: string };

  return {
    runtime: 'isolate',
    async runtimeParts() {
      return {
        isolatedVm: sandboxVersions().isolatedVm,
        node: process.versions.node,
        v8: process.versions.v8,
        system: `${process.platform}-${process.arch}`,
        bundler: `${bundler} ${BUNDLE_REVISION}`,
        maker: sha256(await readFile(JAVASCRIPT_IMAGE_FILE)),
        shims: sha256(await readFile(SHIMS_FILE)),
      };
    },

    async resolve(spec, context): Promise<Lock> {
      const { lock, entries } = await lockNpm(npm, npmDependencies(spec), context);
      return { entries, data: lock };
    },

    async assemble(lock, spec, context): Promise<Assembled> {
      const data = readNpmLock(lock.data);
      context.progress('installing');
      const { folder, scripted } = await installNpm(npm, data, context);
      const names = scripted.map(({ name }) => name);
      context.progress('bundling');
      const modules = spec.dependencies.map((entry) => dependencyName(entry, 'javascript'));
      const made = await bundleWhole(folder, modules, context).catch((error: unknown) => {
        throw withScripts(error, scripted);
      });
      context.progress('loading');
      const report = await loader.load(
        { code: made.code, modules, cpuMs, memoryMiB, snapshot: true },
        context.signal,
      );
      if (report.t === 'failed') throw loadFailure(report.modules, made, context);
      if (report.t === 'limit' || report.t === 'died') throw limitFailure(report, { cpuMs, memoryMiB });
      return publish({ made, report, modules, scripted: names }, context, bundler);
    },
  };
}

/** The failure of a bundle, in other words where a script would have made the file that is missing. */
function withScripts(error: unknown, scripted: readonly ScriptedPackage[]): unknown {
  if (!isImageError(error) || error.code !== 'bundle_failed') return error;
  const needy = scripted.find(({ name }) => error.message.includes(`${name}/`));
  if (needy === undefined) return error;
  return new ImageError(
    'unsupported_package',
    `The package ${needy.name} has an install script, which runs in native images only, and cannot do without: ${error.message}`,
  );
}

interface Made {
  readonly made: WholeBundle;
  readonly report: Extract<ImageReport, { t: 'made' }>;
  readonly modules: readonly string[];
  readonly scripted: readonly string[];
}

async function publish(
  { made, report, modules, scripted }: Made,
  context: BuildContext,
  esbuild: string,
): Promise<Assembled> {
  const isSnapshot = report.kind === 'snapshot';
  if (isSnapshot && report.data.length > MAX_SNAPSHOT_BYTES)
    throw new ImageError('image_too_large', 'The loaded packages take more than 64 MiB of memory.');
  const code = join(context.workFolder, 'bundle.js');
  const kept = join(context.workFolder, 'kept');
  await writeFile(code, made.code);
  await writeFile(kept, report.data);
  return {
    blobs: { 'bundle.js': code, [isSnapshot ? 'snapshot.bin' : 'code-cache.bin']: kept },
    features: { snapshot: isSnapshot, modules },
    warnings: warningsOf(made, scripted, report),
    tools: { esbuild, node: process.versions.node },
  };
}
