import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Diagnostic, Json } from '@heddle/core';
import { isEngineError } from '@heddle/core/blocks';
import type { Engine } from '@heddle/engine';
import type { Io } from '../io.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';

export interface ChildrenOptions {
  workflows?: string;
  compat: boolean;
  json: boolean;
  /** The file of the workflow that runs. It may be in the same folder, and is not deployed as a child. */
  file: string | undefined;
}

/**
 * Deploys the workflows of a folder, so that workflow blocks find them by id or name. Ignores files that are not
 * workflows. Warns about invalid workflows: the blocks that call them fail.
 */
export async function deployChildren(io: Io, engine: Engine, options: ChildrenOptions): Promise<void> {
  const { workflows, file } = options;
  if (workflows === undefined) return;
  const style = styleFor(io.stderr);
  for (const fileName of await listJsonFiles(workflows)) {
    const path = join(workflows, fileName);
    if (file !== undefined && resolve(path) === resolve(file)) continue;
    const problem = await deploy(engine, { path, fileName, compat: options.compat });
    if (problem !== undefined && !options.json)
      io.stderr.write(`${style.yellow('!')} ${path}: ${sanitizeLine(problem)}\n`);
  }
}

async function listJsonFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.json'))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const problem =
      code === 'ENOENT' ? 'There is no folder' : code === 'ENOTDIR' ? 'Not a folder:' : `${message}:`;
    throw new UsageError(`${problem} ${folder}.`, '--workflows needs the folder with the child workflows.');
  }
}

/** Returns the problem of an invalid workflow; undefined if the file was deployed or is not a workflow. */
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
    return isNotWorkflow(error.details) ? undefined : error.message;
  }
}

/** True if the JSON is not a workflow at all, but for example a mock file. */
function isNotWorkflow(details: Json | undefined): boolean {
  const { diagnostics = [] } = (details ?? {}) as { diagnostics?: Pick<Diagnostic, 'code' | 'path'>[] };
  return diagnostics.some(
    ({ code, path }) => code === 'INPUT_SHAPE' && (path.length === 0 || path[0] === 'edges'),
  );
}
