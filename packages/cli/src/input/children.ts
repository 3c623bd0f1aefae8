import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Diagnostic, Json } from '@heddle/core';
import { isEngineError } from '@heddle/core/blocks';
import type { Engine } from '@heddle/engine';
import type { Io } from '../io.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';

export interface ChildrenOptions {
  workflows?: string;
  compat: boolean;
  json: boolean;
  /** The workflow that runs itself: it stands in the folder more often than not. */
  file: string | undefined;
}

/**
 * Deploys the workflows of a folder, so that child blocks find them by id or name. What is no workflow is passed over;
 * one that cannot run is said, and fails the block that calls it.
 */
export async function deployChildren(io: Io, engine: Engine, options: ChildrenOptions): Promise<void> {
  const { workflows, file } = options;
  if (workflows === undefined) return;
  const style = styleFor(io.stderr);
  for (const fileName of await jsonFiles(workflows)) {
    const path = join(workflows, fileName);
    if (file !== undefined && resolve(path) === resolve(file)) continue;
    const fault = await deploy(engine, { path, fileName, compat: options.compat });
    if (fault !== undefined && !options.json)
      io.stderr.write(`${style.yellow('!')} ${path}: ${safeLine(fault)}\n`);
  }
}

async function jsonFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.json'))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const what =
      code === 'ENOENT' ? 'There is no folder' : code === 'ENOTDIR' ? 'This is no folder:' : `${message}:`;
    throw new UsageError(
      `${what} ${folder}.`,
      '--workflows names the folder that holds the child workflows.',
    );
  }
}

/** Why the file was not deployed; undefined when it was, or holds no workflow. */
async function deploy(
  engine: Engine,
  { path, fileName, compat }: { path: string; fileName: string; compat: boolean },
): Promise<string | undefined> {
  const text = await readFile(path, 'utf8');
  try {
    await engine.deploy(text, { fileName, compat });
    return undefined;
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'WORKFLOW_INVALID') throw error;
    return holdsNoWorkflow(error.details) ? undefined : error.message;
  }
}

/** True for JSON that is something else, for example a file of mocks. */
function holdsNoWorkflow(details: Json | undefined): boolean {
  const { diagnostics = [] } = (details ?? {}) as { diagnostics?: Pick<Diagnostic, 'code' | 'path'>[] };
  return diagnostics.some(
    ({ code, path }) => code === 'INPUT_SHAPE' && (path.length === 0 || path[0] === 'edges'),
  );
}
