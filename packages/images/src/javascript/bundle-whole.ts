import { join } from 'node:path';
import type { BuildContext } from '../builder.ts';
import { ImageError, isImageError } from '../error.ts';
import { absentIn, bundle, type Bundle, type ImageModule } from './bundle.ts';
import { subpathsOf } from './subpaths.ts';

/** A bundle with as much of its packages as goes into one. */
export interface WholeBundle extends Bundle {
  /** Sentences for the author of the spec. */
  readonly warnings: readonly string[];
}

const MAX_BUNDLE_CHARS = 20 * 2 ** 20;

interface Parts {
  readonly folder: string;
  /** The packages of the spec, loaded with the image. */
  readonly eager: readonly ImageModule[];
  /** Their other modules, loaded when they are asked for. */
  readonly lazy: ReadonlyMap<string, readonly ImageModule[]>;
}

const fits = ({ code }: Bundle): boolean => code.length <= MAX_BUNDLE_CHARS;

/** The bundle, or null where it does not come about or is too large. */
async function attempt(
  { folder, eager }: Parts,
  lazy: readonly ImageModule[],
  absent: ReadonlySet<string>,
): Promise<Bundle | null> {
  try {
    const made = await bundle(folder, [...eager, ...lazy], absent);
    return fits(made) ? made : null;
  } catch (error) {
    if (isImageError(error)) return null;
    throw error;
  }
}

/** The bundle with the other modules of those packages with which there is one. */
async function bundleMost(parts: Parts, absent: ReadonlySet<string>, alone: Bundle): Promise<WholeBundle> {
  // With nothing to leave out it would be the bundle that has just come to nothing.
  const all = absent.size === 0 ? null : await attempt(parts, [...parts.lazy.values()].flat(), absent);
  if (all !== null) return { ...all, warnings: [] };
  let best = alone;
  let taken: readonly ImageModule[] = [];
  const left: string[] = [];
  for (const [name, lazy] of parts.lazy) {
    const made = await attempt(parts, [...taken, ...lazy], absent);
    if (made === null) left.push(name);
    else [best, taken] = [made, [...taken, ...lazy]];
  }
  const warning = `Only the main module of these packages can be imported, since their others do not go into the image: ${left.join(', ')}.`;
  return { ...best, warnings: [warning] };
}

/**
 * The packages in a project's folder as one script, and with them the other modules that they offer. Some of those are for
 * other surroundings, or need what is not installed: that is no fault of the image, and shows when one is loaded.
 * @throws ImageError bundle_failed, image_too_large.
 */
export async function bundleWhole(
  folder: string,
  names: readonly string[],
  context: BuildContext,
): Promise<WholeBundle> {
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
  let absent: ReadonlySet<string> = new Set();
  try {
    const made = await bundle(folder, [...eager, ...[...lazy.values()].flat()]);
    if (fits(made)) return { ...made, warnings: [] };
  } catch (error) {
    if (!isImageError(error) || lazy.size === 0) throw error;
    context.log(`With the other modules of the packages: ${error.message}`);
    absent = absentIn(error);
  }
  // What is wrong with the packages themselves is the image's fault.
  const alone = await bundle(folder, eager);
  if (!fits(alone))
    throw new ImageError(
      'image_too_large',
      `The packages have ${Math.ceil(alone.code.length / 2 ** 20)} MiB of code; 20 are allowed.`,
    );
  return bundleMost({ folder, eager, lazy }, absent, alone);
}
