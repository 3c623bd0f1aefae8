import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryFolder } from './sources.ts';

/** A repository for a test. Disposing it removes the folder. */
export interface TemporaryRepository extends Disposable {
  readonly folder: string;
}

const CONFIGURATION_FILES = ['.oxlintrc.json', '.knip.json', 'tsconfig.json', 'test/repo/exceptions.jsonc'];

/** Creates a repository with our configurations and these `files` (path → text), in which a test runs a checker. */
export function createRepository(files: Readonly<Record<string, string>>): TemporaryRepository {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-checked-'));
  mkdirSync(join(folder, 'test/repo'), { recursive: true });
  for (const file of CONFIGURATION_FILES) cpSync(join(repositoryFolder, file), join(folder, file));
  symlinkSync(join(repositoryFolder, 'node_modules'), join(folder, 'node_modules'));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Runs the tool `name` of node_modules/.bin in `folder`. Returns its exit code and all output. */
export function runTool(
  name: string,
  args: readonly string[],
  folder: string,
): { code: number; output: string } {
  const tool = join(repositoryFolder, 'node_modules/.bin', name);
  const result = spawnSync(tool, args, { cwd: folder, encoding: 'utf8' });
  if (result.error) throw result.error;
  return { code: result.status ?? 1, output: result.stdout + result.stderr };
}
