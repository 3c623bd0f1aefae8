import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { codeBlocksOf, readPage, repository } from './markdown.ts';
import type { Example } from './markdown.ts';

interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Returns a new folder for the commands of a page, with the examples and the files that the page shows. */
export function createPageFolder(page: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-docs-'));
  symlinkSync(join(repository, 'examples'), join(folder, 'examples'));
  mkdirSync(join(folder, 'workflows'));
  for (const { attributes, text } of codeBlocksOf(page, readPage(page))) {
    const file = attributes.get('file');
    if (file !== undefined) writeFileSync(join(folder, file), text);
  }
  return folder;
}

/** Returns the command without `npm ci`, which has already run, and without `npx`, which is slow. */
function toLocalCommand(command: string): string {
  return command.replaceAll(/\bnpm ci && /g, '').replaceAll(/\bnpx heddle\b/g, 'heddle');
}

/** Runs a command of the documentation in `folder`. */
export function runShellCommand(
  command: string,
  folder: string,
  variables: { [name: string]: string } = {},
): Promise<CommandResult> {
  const path = `${join(repository, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  const env = { PATH: path, HOME: folder, NO_COLOR: '1', API_KEY: 'k-123456', ...variables };
  return new Promise((resolve) => {
    execFile('sh', ['-ec', toLocalCommand(command)], { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ exitCode: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}

/**
 * Returns the documented and the actual output of a command. If the exit codes differ, or the page has no output, it
 * returns the exit codes instead.
 */
export function compareOutput(
  { mainCodeBlock, relatedCodeBlocks }: Example,
  { exitCode, stdout, stderr }: CommandResult,
): { documented: unknown; actual: unknown } {
  const output = relatedCodeBlocks.get('output');
  const parseOutput = (text: string): unknown =>
    output?.language === 'json' ? JSON.parse(text) : text.trim();
  const documentedCode = Number(mainCodeBlock.attributes.get('exit') || 0);
  if (exitCode !== documentedCode)
    return { documented: { exitCode: documentedCode }, actual: { exitCode, stdout, stderr } };
  return output
    ? { documented: parseOutput(output.text), actual: parseOutput(stdout) }
    : { documented: documentedCode, actual: exitCode };
}
