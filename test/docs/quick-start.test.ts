import { rmSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { startHeddle } from '../support/heddle.ts';
import { codeBlocksOf, readPage } from './markdown.ts';
import { createPageFolder, runShellCommand } from './shell.ts';

const PAGE = 'README.md';
const codeBlocks = codeBlocksOf(PAGE, readPage(PAGE));

/** Returns the index of the README's first code block with this command. */
function codeBlockIndexOf(command: string): number {
  const index = codeBlocks.findIndex(({ text }) => text.includes(command));
  if (index < 0) throw new Error(`The README has no command ${command}.`);
  return index;
}

/** Returns a new folder for the commands of the README, which is deleted after the test. */
function createFolder(): string {
  const path = createPageFolder(PAGE);
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/**
 * Returns the output without the parts that vary. Times with their padding and the id of the run become placeholders;
 * messages about slow blocks are removed.
 */
function normalize(output: string): string {
  return output
    .replaceAll(/ *\b\d[\d.]* m?s\b/g, ' TIME')
    .replaceAll(/\brun [0-9a-f]{8}\b/g, 'run ID')
    .replaceAll(/^… .* is still running\n/gm, '')
    .trim();
}

it('the first command of the quick start prints the output in the README', { timeout: 120_000 }, async () => {
  const index = codeBlockIndexOf('npx heddle run');
  const command = codeBlocks[index]?.text.trim() ?? '';
  const { stdout } = await runShellCommand(`(${command}) 2>&1`, createFolder());
  expect(normalize(stdout)).toBe(normalize(codeBlocks[index + 1]?.text ?? ''));
});

it('the server commands print a curl command that runs the workflow', { timeout: 120_000 }, async () => {
  const cwd = createFolder();
  expect(codeBlocks[codeBlockIndexOf('npx heddle serve')]?.text.trim()).toBe('npx heddle serve');
  const server = startHeddle(['serve', '--port', '0', '--grace', '1'], { cwd });
  await server.waitForText('Ctrl-C stops it.');
  const exportCommand = await server.findLine('export ');
  const deployCommand = codeBlocks[codeBlockIndexOf('npx heddle deploy')]?.text ?? '';
  const deployResult = await runShellCommand(`${exportCommand}\n${deployCommand}`, cwd);
  expect({ exitCode: deployResult.exitCode, stderr: deployResult.stderr }).toMatchObject({ exitCode: 0 });
  const [curlCommand = ''] = /curl (?:.|\\\n)+/.exec(deployResult.stdout) ?? [];
  const curlResult = await runShellCommand(`${exportCommand}\n${curlCommand}`, cwd);
  expect(JSON.parse(curlResult.stdout)).toMatchObject({ data: { status: 'completed' } });
});
