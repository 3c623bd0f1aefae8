import { join } from 'node:path';
import type { BuildContext } from '../builder.ts';
import { ImageError, isImageError } from '../error.ts';
import { unresolvedModulesOf, bundle, type Bundle, type ImageModule } from './bundle.ts';
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
  readonly eagerModules: readonly ImageModule[];
  /** The other modules of each package, loaded on demand. */
  readonly lazyModules: ReadonlyMap<string, readonly ImageModule[]>;
}

const isSmallEnough = ({ code }: Bundle): boolean => code.length <= MAX_BUNDLE_CHARS;

/** Returns the bundle, or undefined if it cannot be made or is too large. */
async function tryBundle(
  { folder, eagerModules }: BundleModules,
  lazyModules: readonly ImageModule[],
  unresolvedNames: ReadonlySet<string>,
): Promise<Bundle | undefined> {
  try {
    const result = await bundle(folder, [...eagerModules, ...lazyModules], unresolvedNames);
    return isSmallEnough(result) ? result : undefined;
  } catch (error) {
    if (isImageError(error)) return undefined;
    throw error;
  }
}

/** Returns the bundle with the other modules of as many packages as possible. */
async function bundleMostModules(
  modules: BundleModules,
  unresolvedNames: ReadonlySet<string>,
  mainBundle: Bundle,
): Promise<PackageBundle> {
  // If all modules were resolved, this would be the bundle that just failed or was too large.
  const completeBundle =
    unresolvedNames.size === 0
      ? undefined
      : await tryBundle(modules, [...modules.lazyModules.values()].flat(), unresolvedNames);
  if (completeBundle !== undefined) return { ...completeBundle, warnings: [] };
  let bestBundle = mainBundle;
  let includedModules: readonly ImageModule[] = [];
  const excludedNames: string[] = [];
  for (const [name, lazyModules] of modules.lazyModules) {
    const result = await tryBundle(modules, [...includedModules, ...lazyModules], unresolvedNames);
    if (result === undefined) excludedNames.push(name);
    else [bestBundle, includedModules] = [result, [...includedModules, ...lazyModules]];
  }
  const warning = `Only the main module of these packages can be imported, because their other modules cannot be bundled: ${excludedNames.join(', ')}.`;
  return { ...bestBundle, warnings: [warning] };
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
  const eagerModules = names.map((name) => ({ name, eager: true }));
  const lazyModules = new Map<string, readonly ImageModule[]>();
  for (const name of names) {
    const subpaths = await subpathsOf(name, join(folder, 'node_modules'));
    if (subpaths.length > 0)
      lazyModules.set(
        name,
        subpaths.map((subpath) => ({ name: subpath, eager: false })),
      );
  }
  let unresolvedNames: ReadonlySet<string> = new Set();
  try {
    const result = await bundle(folder, [...eagerModules, ...[...lazyModules.values()].flat()]);
    if (isSmallEnough(result)) return { ...result, warnings: [] };
  } catch (error) {
    if (!isImageError(error) || lazyModules.size === 0) throw error;
    context.log(`With the other modules of the packages: ${error.message}`);
    unresolvedNames = unresolvedModulesOf(error);
  }
  // Errors of the packages themselves make the build fail.
  const mainBundle = await bundle(folder, eagerModules);
  if (!isSmallEnough(mainBundle))
    throw new ImageError(
      'image_too_large',
      `The packages have ${Math.ceil(mainBundle.code.length / 2 ** 20)} MiB of code; the maximum is 20 MiB.`,
    );
  return bundleMostModules({ folder, eagerModules, lazyModules }, unresolvedNames, mainBundle);
}
