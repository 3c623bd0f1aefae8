import type { BuildContext, LockEntry } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import type { Npm } from '../../javascript/npm.ts';
import type { PythonLockData } from '../../python/lock.ts';
import type { DebianPackage } from '../debian/catalogue.ts';
import type { LockedTool } from '../lock.ts';
import { lockNpmPackages } from '../../javascript/npm-project.ts';
import { lockWheels } from '../python/lock.ts';
import { toolchainOfHost } from './go/toolchain.ts';
import type { GoInstall, GoModule, Recipe } from './recipe.ts';
import { RECIPES } from './recipes.ts';

/** The npm runner, packages and checksums with which tools are locked. */
export interface ToolEnvironment {
  readonly npm: Npm;
  /** The Debian packages of the image. */
  readonly packages: readonly DebianPackage[];
  /** Checksums that the operator trusts, by tool id. */
  readonly checksums: Readonly<Record<string, string>>;
}

/** Returns the recipe of a validated id. */
export function recipeOf(id: string): Recipe {
  const found = RECIPES.find((recipe) => recipe.id === id);
  if (found !== undefined) return found;
  throw new ImageError('package_not_found', `There is no recipe for the command-line tool ${id}.`);
}

/**
 * Returns the checksum of a recipe's file. Throws ImageError if there is none, because files without a trusted checksum
 * are not installed, or if the file is for another architecture or in an unsupported format.
 */
function checksumOf({ id, url, sha256, install }: Recipe, checksums: ToolEnvironment['checksums']): string {
  if (process.arch !== 'x64')
    throw new ImageError(
      'incompatible_platform',
      `The command-line tool ${id} is only available for x86-64.`,
    );
  if (install.from === 'go' && install.publisherFile === undefined)
    throw new ImageError(
      'unsupported_package',
      `The command-line tool ${id} cannot be installed from ${url}, because the format of this file is not supported: remove the tool's checksum, and it is compiled from its sources.`,
    );
  const digest = checksums[id] ?? sha256;
  if (digest !== undefined && /^[0-9a-f]{64}$/.test(digest)) return digest;
  throw new ImageError(
    'unsupported_package',
    `The command-line tool ${id} cannot be installed, because its recipe has no checksum of ${url}: the operator can provide the publisher's checksum (option checksums of the native builder, or --checksum of heddle sandbox build).`,
  );
}

/**
 * Returns whether the publisher's file is used: if there is no other source, or if the operator trusts its checksum.
 */
export function isDownloaded({ id, install }: Recipe, checksums: ToolEnvironment['checksums']): boolean {
  return install.from === 'download' || (install.from === 'go' && checksums[id] !== undefined);
}

/** Throws ImageError for a tool that cannot be installed on this host. */
export function checkRecipe(recipe: Recipe, checksums: ToolEnvironment['checksums']): void {
  if (isDownloaded(recipe, checksums)) checksumOf(recipe, checksums);
  else if (recipe.install.from === 'go') toolchainOfHost();
}

/** Returns a lock entry for a module. Its digest is the module's checksum, a hash of file names and digests. */
function entryOf({ path, version, sum }: GoModule): LockEntry {
  return {
    name: path,
    version,
    digest: `sha256:${Buffer.from(sum.slice('h1:'.length), 'base64').toString('hex')}`,
  };
}

function lockGoTool(id: string, { modules }: GoInstall): { tool: LockedTool; entries: readonly LockEntry[] } {
  const toolchain = toolchainOfHost();
  return { tool: { id, go: { toolchain, modules } }, entries: [...modules, toolchain].map(entryOf) };
}

/** Locks the npm package, wheels, Go modules or file of a tool. Throws ImageError. */
export async function lockTool(
  id: string,
  { npm, packages, checksums }: ToolEnvironment,
  context: BuildContext,
): Promise<{ tool: LockedTool; entries: readonly LockEntry[] }> {
  const recipe = recipeOf(id);
  const { install, version } = recipe;
  if (install.from === 'npm') {
    const { lock, entries } = await lockNpmPackages(npm, { [install.name]: version }, context);
    return { tool: { id, npm: lock }, entries };
  }
  if (install.from === 'pypi') {
    const { data, entries } = await lockWheels([`${install.name}==${version}`], packages, context);
    return { tool: { id, python: data as PythonLockData }, entries };
  }
  if (install.from === 'go' && !isDownloaded(recipe, checksums)) return lockGoTool(id, install);
  const sha256 = checksumOf(recipe, checksums);
  const [name = id] = id.split('@');
  return { tool: { id, sha256 }, entries: [{ name, version, digest: `sha256:${sha256}` }] };
}
