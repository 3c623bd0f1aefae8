import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, symlink, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import type { BuildContext } from '../../builder.ts';
import { ImageError, isImageError } from '../../error.ts';
import type { Npm } from '../../javascript/npm.ts';
import { withArchive } from '../../python/wheels/archive.ts';
import { decompress } from '../archive/decompress.ts';
import { TreeWriter, untar, mergeTree } from '../archive/tree-writer.ts';
import { MAX_PACKAGE_BYTES, MAX_SIZE } from '../limits.ts';
import type { LockedTool } from '../lock.ts';
import { readNpmLock } from '../../javascript/lockfile.ts';
import { installNpmLock } from '../../javascript/npm-project.ts';
import type { RootJobRunner } from '../root-job-runner.ts';
import { runScripts } from '../scripts.ts';
import { readWheelLock } from '../python/lock.ts';
import { installWheels } from '../python/wheels.ts';
import { findOrCompilePrograms } from './go/compile.ts';
import { recipeOf } from './lock-tools.ts';
import type { Download, Recipe } from './recipe.ts';

/** Folder of everything in an image that does not come from Debian, relative to the image's root. */
export const HEDDLE_FOLDER = 'opt/heddle';
const PROGRAMS_FOLDER = `${HEDDLE_FOLDER}/bin`;

const installError = (id: string, reason: string): ImageError =>
  new ImageError('install_failed', `The command-line tool ${id} could not be installed: ${reason}.`);

/** Links a program of a tool into the folder for programs. */
async function linkProgram(root: string, name: string, target: string): Promise<void> {
  const link = join(root, PROGRAMS_FOLDER, name);
  await mkdir(dirname(link), { recursive: true });
  await rm(link, { force: true });
  await symlink(relative(dirname(link), target), link);
}

async function unpackZip(path: string, writer: TreeWriter, toolFolder: string): Promise<void> {
  await withArchive(path, async (files) => {
    for (const file of files) {
      const bytes = await file.read();
      // Zip archives may have no file modes, so all files are executable.
      const meta = { mode: 0o755, size: bytes.length };
      await writer.writeFile(`${toolFolder}/${writer.relativePath(file.path)}`, Readable.from([bytes]), meta);
    }
  });
}

/** Returns the publisher's file of a recipe, or undefined if it has none. */
function publisherFileOf({ install }: Recipe): Download | undefined {
  if (install.from === 'go') return install.publisherFile;
  return install.from === 'download' ? install : undefined;
}

async function installDownload(
  tool: LockedTool,
  recipe: Recipe,
  root: string,
  context: BuildContext,
): Promise<void> {
  const { url, id } = recipe;
  const install = publisherFileOf(recipe);
  if (install === undefined) return;
  const toolFolder = `${HEDDLE_FOLDER}/tools/${id}`;
  const writer = new TreeWriter(root, MAX_SIZE, `The command-line tool ${id}`);
  const { path } = await context.fetchVerified(url, `sha256:${tool.sha256}`, {
    maxBytes: MAX_PACKAGE_BYTES,
  });
  try {
    if (install.format === 'zip') await unpackZip(path, writer, toolFolder);
    else if (install.format === 'tar.gz')
      await untar(decompress(await readFile(path), '.gz'), writer, toolFolder);
    else
      for (const name of Object.values(install.programs)) {
        const bytes = await readFile(path);
        const meta = { mode: 0o755, size: bytes.length };
        await writer.writeFile(`${toolFolder}/${name}`, Readable.from([bytes]), meta);
      }
  } catch (error) {
    if (isImageError(error)) throw error;
    throw installError(id, (error as Error).message);
  }
  for (const [name, pathInArchive] of Object.entries(install.programs)) {
    const target = join(root, toolFolder, pathInArchive);
    if (!existsSync(target)) throw installError(id, `its archive does not contain ${pathInArchive}`);
    await linkProgram(root, name, target);
  }
}

/** npm, and the sandbox in which install scripts run. */
interface InstallEnvironment {
  readonly npm: Npm;
  readonly rootJobRunner: RootJobRunner;
}

/**
 * Installs a locked tool below the root. Runs no code of the tool except install scripts of npm packages, which run
 * inside the image. Returns warnings.
 */
export async function installTool(
  tool: LockedTool,
  root: string,
  { npm, rootJobRunner }: InstallEnvironment,
  context: BuildContext,
): Promise<readonly string[]> {
  const recipe = recipeOf(tool.id);
  const { install, id } = recipe;
  context.reportProgress(`installing ${id}`);
  const toolFolder = `${HEDDLE_FOLDER}/tools/${id}`;
  await mkdir(join(root, toolFolder), { recursive: true });
  if (install.from === 'npm') {
    const { nodeModules, scriptedPackages } = await installNpmLock(npm, readNpmLock(tool.npm), context);
    await rename(nodeModules, join(root, toolFolder, 'node_modules'));
    const warnings = await runScripts(
      scriptedPackages,
      { root, folder: toolFolder, npm, rootJobRunner },
      context,
    );
    for (const name of install.programs) {
      const target = join(root, toolFolder, 'node_modules', '.bin', name);
      if (!existsSync(target)) throw installError(id, `its package has no program ${name}`);
      await linkProgram(root, name, target);
    }
    return warnings;
  }
  if (install.from === 'pypi') {
    const folders = { root, site: `${toolFolder}/python`, programs: `${toolFolder}/bin` };
    const { warnings } = await installWheels(readWheelLock(tool.python).wheels, folders, context);
    for (const name of install.programs) {
      const target = join(root, toolFolder, 'bin', name);
      if (!existsSync(target)) throw installError(id, `its package has no program ${name}`);
      await linkProgram(root, name, target);
    }
    return warnings;
  }
  if (install.from === 'go' && tool.go !== undefined) {
    const { path } = await findOrCompilePrograms({ id, install, locked: tool.go }, rootJobRunner, context);
    await mergeTree(path, new TreeWriter(join(root, toolFolder), MAX_SIZE, `The command-line tool ${id}`));
    for (const name of Object.keys(install.programs))
      await linkProgram(root, name, join(root, toolFolder, name));
    return [];
  }
  await installDownload(tool, recipe, root, context);
  return [];
}
