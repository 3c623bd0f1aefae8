import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  PYTHON_LIMITS,
  type PythonModuleFailure,
  type PythonReport,
  resolveLimits,
} from '@heddle/sandbox/build';
import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import { canonicalName } from '../pep/names.ts';
import type { PackageArchive } from './package-archive.ts';
import type { PythonLoader } from './python-loader.ts';

/** The result of importing an image's modules. */
export interface ImportResult {
  /** Path of the memory snapshot; absent if the modules cannot be stored in one. */
  readonly snapshotPath?: string;
  /** Modules that user code can import, in the order of the specification. */
  readonly modules: readonly string[];
  readonly warnings: readonly string[];
}

/** The default CPU time of a run. */
const { cpuMs } = resolveLimits(PYTHON_LIMITS);

/** Maximum number of refused modules in the log. */
const MAX_LOGGED_MODULES = 20;
/** Maximum size of a memory snapshot. */
const MAX_SNAPSHOT_BYTES = 64 * 2 ** 20;

/**
 * Loads the packages of a specification with the limits of a run, and makes a memory snapshot, which is tested before
 * it is used. `names` are canonical.
 * @throws ImageError load_failed.
 */
export async function makeMemorySnapshot(
  names: readonly string[],
  packageArchive: PackageArchive,
  loader: PythonLoader,
  context: BuildContext,
): Promise<ImportResult> {
  const allModules = names.flatMap((name) => packageArchive.modules.get(name) ?? []);
  const load = (modules: readonly string[], snapshot?: string): Promise<PythonReport> =>
    loader.run(
      { t: 'load', fromSnapshot: snapshot !== undefined, modules, cpuMs },
      snapshot === undefined ? [packageArchive.path] : [packageArchive.path, snapshot],
      context.signal,
    );
  context.reportProgress('loading');
  const { order, failed: failures } = requireLoaded(await load(allModules));
  const essentialModules = names.flatMap((name) =>
    essentialModulesOf(name, packageArchive.modules.get(name) ?? [], failures),
  );
  for (const { module, message, stack } of failures) context.log(`${module}: ${message}\n${stack}`);
  const [essentialFailure] = failures.filter(({ module }) => essentialModules.includes(module));
  if (essentialFailure)
    throw new ImageError(
      'load_failed',
      `The module ${essentialFailure.module} cannot be imported: ${essentialFailure.message}`,
    );
  const loadableModules = allModules.filter(
    (module) => !failures.some((failure) => failure.module === module),
  );
  const warnings = failures.map(
    ({ module, message }) => `The module ${module} cannot be imported: ${message}`,
  );
  const base = { modules: topLevelNamesOf(loadableModules) };
  context.reportProgress('making a memory snapshot');
  const snapshot = await makeSnapshot(order, packageArchive, loader, context);
  if ('reason' in snapshot) return { ...base, warnings: [...warnings, noSnapshotWarning(snapshot.reason)] };
  const restoreReport = await load(loadableModules, snapshot.path);
  if (restoreReport.t === 'loaded' && restoreReport.failed.length === 0)
    return { ...base, snapshotPath: snapshot.path, warnings };
  context.log(`With the snapshot: ${JSON.stringify(restoreReport).slice(0, 2_000)}`);
  return {
    ...base,
    warnings: [...warnings, noSnapshotWarning('they do not work when restored from a snapshot')],
  };
}

function requireLoaded(report: PythonReport): Extract<PythonReport, { t: 'loaded' }> {
  if (report.t === 'loaded') return report;
  if (report.t !== 'limit')
    throw new ImageError(
      'load_failed',
      `The packages cannot be loaded: ${report.t === 'failed' ? report.message : report.t}`,
    );
  throw new ImageError(
    'load_failed',
    report.limit === 'time'
      ? `The packages take more than ${cpuMs / 1_000} seconds to load.`
      : 'The packages need more memory to load than a run has.',
  );
}

/** Makes a snapshot, or returns the reason why there is none. */
async function makeSnapshot(
  modules: readonly string[],
  packageArchive: PackageArchive,
  loader: PythonLoader,
  context: BuildContext,
): Promise<{ readonly path: string } | { readonly reason: string }> {
  const request = { t: 'snapshot', modules, cpuMs } as const;
  const report = await loader.run(request, [packageArchive.path], context.signal);
  if (report.t !== 'snapshot') {
    context.log(`No snapshot: ${JSON.stringify(report).slice(0, 2_000)}`);
    return { reason: 'they cannot be stored in a snapshot' };
  }
  context.log(`${report.imported.length} of ${modules.length} modules are in the snapshot`);
  // Only the first ones, because a refused module usually causes the refusal of later ones.
  const refusedModules = Object.entries(report.refused).slice(0, MAX_LOGGED_MODULES);
  for (const [module, reason] of refusedModules) context.log(`Not in the snapshot: ${module}: ${reason}`);
  const path = join(context.workFolder, 'memory.snap');
  await writeFile(path, report.memory);
  const { size } = await stat(path);
  return size > MAX_SNAPSHOT_BYTES
    ? { reason: `their snapshot has more than ${MAX_SNAPSHOT_BYTES / 2 ** 20} MiB` }
    : { path };
}

function noSnapshotWarning(reason: string): string {
  return `The packages are loaded for each run, because ${reason}.`;
}

/**
 * Returns the modules whose failure fails the build: those with the distribution's name. If there are none, returns all
 * modules if all of them failed, otherwise none, because some may be for other environments.
 */
function essentialModulesOf(
  name: string,
  modules: readonly string[],
  failures: readonly PythonModuleFailure[],
): readonly string[] {
  const ownModules = modules.filter((module) => canonicalName(module) === name);
  if (ownModules.length > 0) return ownModules;
  const hasFailed = (module: string): boolean => failures.some((failure) => failure.module === module);
  return modules.every(hasFailed) ? modules : [];
}

/** Returns the top-level names of modules; names with a leading underscore are private. */
function topLevelNamesOf(modules: readonly string[]): string[] {
  const names = modules.map((module) => module.split('.', 1)[0] ?? module);
  return [...new Set(names)].filter((name) => !name.startsWith('_'));
}
