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
import type { PackageArchive } from './site.ts';
import type { PythonLoader } from './python-loader.ts';

/** The memory in which the image's modules are imported. */
export interface Memory {
  /** Absent where the modules cannot be kept in one. */
  readonly path?: string;
  /** What user code can import, in the order of the spec. */
  readonly modules: readonly string[];
  readonly warnings: readonly string[];
}

/** Of a run that says nothing else. */
const { cpuMs } = resolveLimits(PYTHON_LIMITS);

const MAX_LOGGED = 20;
const MAX_BYTES = 64 * 2 ** 20;

/**
 * Loads what a spec asks for with the limits of a run, and keeps the outcome as a memory snapshot, tried before it is used.
 * `names` are canonical.
 * @throws ImageError load_failed.
 */
export async function makeMemory(
  names: readonly string[],
  site: PackageArchive,
  loader: PythonLoader,
  context: BuildContext,
): Promise<Memory> {
  const all = names.flatMap((name) => site.modules.get(name) ?? []);
  const load = (snapshot: string | null, modules: readonly string[]): Promise<PythonReport> =>
    loader.run(
      { t: 'load', fromSnapshot: snapshot !== null, modules, cpuMs },
      snapshot === null ? [site.path] : [site.path, snapshot],
      context.signal,
    );
  context.progress('loading');
  const { order, failed } = loadedOf(await load(null, all));
  const essential = names.flatMap((name) => essentialOf(name, site.modules.get(name) ?? [], failed));
  for (const { module, message, stack } of failed) context.log(`${module}: ${message}\n${stack}`);
  const [missing] = failed.filter(({ module }) => essential.includes(module));
  if (missing)
    throw new ImageError(
      'load_failed',
      `The module ${missing.module} cannot be imported: ${missing.message}`,
    );
  const good = all.filter((module) => !failed.some((failure) => failure.module === module));
  const optional = failed.map(({ module, message }) => `The module ${module} cannot be imported: ${message}`);
  const base = { modules: topLevelOf(good) };
  context.progress('keeping the memory');
  const kept = await keep(order, site, loader, context);
  if ('why' in kept) return { ...base, warnings: [...optional, slowWarning(kept.why)] };
  const tried = await load(kept.path, good);
  if (tried.t === 'loaded' && tried.failed.length === 0)
    return { ...base, path: kept.path, warnings: optional };
  context.log(`With the snapshot: ${JSON.stringify(tried).slice(0, 2_000)}`);
  return { ...base, warnings: [...optional, slowWarning('they do not work when they come from one')] };
}

function loadedOf(report: PythonReport): Extract<PythonReport, { t: 'loaded' }> {
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

/** Makes a snapshot; or says why there is none. */
async function keep(
  modules: readonly string[],
  site: PackageArchive,
  loader: PythonLoader,
  context: BuildContext,
): Promise<{ readonly path: string } | { readonly why: string }> {
  const order = { t: 'snapshot', modules, cpuMs } as const;
  const report = await loader.run(order, [site.path], context.signal);
  if (report.t !== 'snapshot') {
    context.log(`No snapshot: ${JSON.stringify(report).slice(0, 2_000)}`);
    return { why: 'they cannot be kept in a snapshot' };
  }
  context.log(`${report.imported.length} of ${modules.length} modules are kept in the snapshot`);
  // The first is the cause of most that follow.
  const refused = Object.entries(report.refused).slice(0, MAX_LOGGED);
  for (const [module, why] of refused) context.log(`Not kept: ${module}: ${why}`);
  const path = join(context.workFolder, 'memory.snap');
  await writeFile(path, report.memory);
  const { size } = await stat(path);
  return size > MAX_BYTES ? { why: `a snapshot of them has more than ${MAX_BYTES / 2 ** 20} MiB` } : { path };
}

function slowWarning(why: string): string {
  return `The packages are loaded anew for each run, since ${why}.`;
}

/**
 * The modules of a distribution without which it is of no use: the one that has its name, or else its only one, or else, when
 * all fail, all. Others may be for other surroundings.
 */
function essentialOf(
  name: string,
  modules: readonly string[],
  failed: readonly PythonModuleFailure[],
): readonly string[] {
  const named = modules.filter((module) => canonicalName(module) === name);
  if (named.length > 0) return named;
  const fails = (module: string): boolean => failed.some((failure) => failure.module === module);
  return modules.every(fails) ? modules : [];
}

/** `a` of `a.b`; names that begin with an underscore are nobody's to import. */
function topLevelOf(modules: readonly string[]): string[] {
  const names = modules.map((module) => module.split('.', 1)[0] ?? module);
  return [...new Set(names)].filter((name) => !name.startsWith('_'));
}
