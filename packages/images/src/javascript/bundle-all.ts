import { join } from 'node:path';
import type { BuildContext } from '../builder.ts';
import { ImageError, isImageError } from '../error.ts';
import { unresolvedModules, bundle, type Bundle, type ImageModule } from './bundle.ts';
import { subpathsOf } from './subpaths.ts';

/** A bundle with as many modules of its packages as possible. */
export interface PackageBundle extends Bundle {
  /** Sentences for the author of the specification. */
  readonly warnings: readonly string[];
}

const MAX_BUNDLE_CHARS = 20 * 2 ** 20;

interface BundleModules {
  readonly folder: string;
  /** The packages of the specification, loaded with the image. */
  readonly eager: readonly ImageModule[];
  /** The other modules of each package, loaded on demand. */
  readonly lazy: ReadonlyMap<string, readonly ImageModule[]>;
}

const isSmallEnough = ({ code }: Bundle): boolean => code.length <= MAX_BUNDLE_CHARS;

/** Returns the bundle, or undefined if it cannot be made or is too large. */
async function tryBundle(
  { folder, eager }: BundleModules,
  lazy: readonly ImageModule[],
  unresolved: ReadonlySet<string>,
): Promise<Bundle | undefined> {
  try {
    const result = await bundle(folder, [...eager, ...lazy], unresolved);
    return isSmallEnough(result) ? result : undefined;
  } catch (error) {
    if (isImageError(error)) return undefined;
    throw error;
  }
}

/** Returns the bundle with the other modules of as many packages as possible. */
async function bundleMost(
  modules: BundleModules,
  unresolved: ReadonlySet<string>,
  mainBundle: Bundle,
): Promise<PackageBundle> {
  // If all modules were resolved, this would be the bundle that just failed or was too large.
  const completeBundle =
    unresolved.size === 0
      ? undefined
      : await tryBundle(modules, [...modules.lazy.values()].flat(), unresolved);
  if (completeBundle !== undefined) return { ...completeBundle, warnings: [] };
  let best = mainBundle;
  let included: readonly ImageModule[] = [];
  const excluded: string[] = [];
  for (const [name, lazy] of modules.lazy) {
    const result = await tryBundle(modules, [...included, ...lazy], unresolved);
    if (result === undefined) excluded.push(name);
    else [best, included] = [result, [...included, ...lazy]];
  }
  const warning = `Only the main module of these packages can be imported, because their other modules cannot be bundled: ${excluded.join(', ')}.`;
  return { ...best, warnings: [warning] };
}

/**
 * Bundles the packages in a project folder as one script, with the modules that they offer besides their main modules.
 * Some of those are for other environments or need packages that are not installed. Then only the import of such a
 * module fails, not the image.
 * @throws ImageError bundle_failed, image_too_large.
 */
export async function bundleAllModules(
  folder: string,
  names: readonly string[],
  context: BuildContext,
): Promise<PackageBundle> {
  const eager = names.map((name) => ({ name, eager: true }));
  const lazy = new Map<string, readonly ImageModule[]>();
  for (const name of names) {
    const subpaths = await subpathsOf(name, join(folder, 'node_modules'));
    if (subpaths.length > 0)
      lazy.set(
        name,
        subpaths.map((subpath) => ({ name: subpath, eager: false })),
      );
  }
  let unresolved: ReadonlySet<string> = new Set();
  try {
    const result = await bundle(folder, [...eager, ...[...lazy.values()].flat()]);
    if (isSmallEnough(result)) return { ...result, warnings: [] };
  } catch (error) {
    if (!isImageError(error) || lazy.size === 0) throw error;
    context.log(`With the other modules of the packages: ${error.message}`);
    unresolved = unresolvedModules(error);
  }
  // Errors of the packages themselves fail the image.
  const mainBundle = await bundle(folder, eager);
  if (!isSmallEnough(mainBundle))
    throw new ImageError(
      'image_too_large',
      `The packages have ${Math.ceil(mainBundle.code.length / 2 ** 20)} MiB of code; the maximum is 20 MiB.`,
    );
  return bundleMost({ folder, eager, lazy }, unresolved, mainBundle);
}
