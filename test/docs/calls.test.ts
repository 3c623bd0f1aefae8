import { rmSync } from 'node:fs';
import { onTestFinished, describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { startHeddleServe } from '../support/heddle.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { resolveTool } from '../tools/fetch.ts';
import { codeBlocksOf, readPage } from './markdown.ts';
import { createPageFolder, runShellCommand } from './shell.ts';

const PAGE = 'docs/api-calls.md';
const curl = resolveTool('curl');
const codeBlocks = codeBlocksOf(PAGE, readPage(PAGE)).filter(({ attributes }) => attributes.has('call'));

/** Returns `METHOD /path` of each call with curl in the commands. */
function callsIn(text: string): string[] {
  const joinedText = text.replaceAll('\\\n', ' ');
  return [...joinedText.matchAll(/curl (-X (\w+) )?"\$BASE([^"?]+)[^"]*"([^|\n)]*)/g)].map(
    ([, , method, path = '', otherArguments = '']) =>
      `${method ?? (/ -d /.test(otherArguments) ? 'POST' : 'GET')} ${path}`,
  );
}

/** Returns whether the call, `METHOD /path`, calls this operation. A path parameter matches one segment. */
function matches({ method, path }: { method: string; path: string }, call: string): boolean {
  return new RegExp(`^${method} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(call);
}

describe('docs/api-calls.md', () => {
  it('has a call of every operation, and no other calls', () => {
    const calls = codeBlocks.flatMap(({ text }) => callsIn(text));
    expect(calls.length).toBeGreaterThan(SERVED_OPERATIONS.length);
    const missingOperations = SERVED_OPERATIONS.filter(
      (operation) => !calls.some((call) => matches(operation, call)),
    );
    expect(missingOperations.map(({ id }) => id)).toEqual([]);
    expect(calls.filter((call) => !SERVED_OPERATIONS.some((operation) => matches(operation, call)))).toEqual(
      [],
    );
  });

  it.skipIf(!curl)(
    'has calls that succeed in the order of the page, with the described results',
    { timeout: 180_000 },
    async () => {
      const server = await startHeddleServe(['--data', createDataFolder()]);
      const folder = createPageFolder(PAGE);
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const script = codeBlocks.map(({ location, text }) => `echo '${location}' >&2\n${text}`).join('\n');
      const env = { BASE: server.url, KEY: server.key, WORKSPACE: server.workspaceId };
      const { exitCode, stdout, stderr } = await runShellCommand(script, folder, env);
      expect(exitCode, `${stderr}\n${stdout.slice(-2000)}`).toBe(0);
      expect(stderr.trim().split('\n')).toEqual(codeBlocks.map(({ location }) => location));
      for (const expectedText of [
        '"hello":"Ada"',
        '"[DONE]"',
        '"type":"heartbeat"',
        'Hello',
        '"status":"paused"',
      ]) {
        expect(stdout).toContain(expectedText);
      }
    },
  );
});
