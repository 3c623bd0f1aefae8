import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesOf, fencesOf, pages, readPage, repository } from './markdown.ts';
import type { Example, Fence } from './markdown.ts';

/** The commands of a page, in order; they run in one folder, so that a command may go on with an earlier one's runs. */
const found = pages
  .map((page) => ({ page, examples: examplesOf(commandsOf(page), 'run', ['output']) }))
  .map(({ page, examples }) => ({ page, examples: examples.filter(({ main }) => main.language === 'sh') }))
  .filter(({ examples }) => examples.length > 0);

/** The README is for readers: its commands have no marks. Only the tests themselves are not run from here. */
function commandsOf(page: string): Fence[] {
  const fences = fencesOf(page, readPage(page));
  if (page !== 'README.md') return fences;
  const isRun = ({ language, text }: Fence): boolean => language === 'sh' && text.includes('npx heddle');
  return fences.filter(isRun).map((fence) => ({ ...fence, marks: new Map([['run', '']]) }));
}

interface Outcome {
  exit: number;
  stdout: string;
  stderr: string;
}

/** `npm ci` has been done, and npx would find the same command more slowly. */
function local(command: string): string {
  return command.replaceAll(/\bnpm ci && /g, '').replaceAll(/\bnpx heddle\b/g, 'heddle');
}

function shell(command: string, folder: string): Promise<Outcome> {
  const path = `${join(repository, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  const env = { PATH: path, HOME: folder, NO_COLOR: '1', API_KEY: 'k-123456' };
  return new Promise((resolve) => {
    execFile('sh', ['-ec', local(command)], { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ exit: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}

/** What the page says that a command gives, and what it gave. */
function compared(
  { main, parts }: Example,
  { exit, stdout, stderr }: Outcome,
): { said: unknown; gave: unknown } {
  const output = parts.get('output');
  const read = (text: string): unknown => (output?.language === 'json' ? JSON.parse(text) : text.trim());
  const said = Number(main.marks.get('exit') || 0);
  if (exit !== said) return { said: { exit: said }, gave: { exit, stdout, stderr } };
  return output ? { said: read(output.text), gave: read(stdout) } : { said, gave: exit };
}

describe('the commands of the documentation', () => {
  it('are found', () => {
    expect(found.map(({ page }) => page)).toEqual(
      expect.arrayContaining(['README.md', 'docs/operations.md', 'docs/format.md', 'packages/cli/README.md']),
    );
  });

  describe.each(found)('$page', ({ page, examples }) => {
    let folder = '';

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'heddle-docs-'));
      symlinkSync(join(repository, 'examples'), join(folder, 'examples'));
      mkdirSync(join(folder, 'workflows'));
      for (const { marks, text } of fencesOf(page, readPage(page))) {
        const file = marks.get('file');
        if (file !== undefined) writeFileSync(join(folder, file), text);
      }
    });

    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it.each(examples.map((example) => [example.main.at, example] as const))(
      'do what it says: %s',
      { timeout: 120_000 },
      async (_, example) => {
        const { said, gave } = compared(example, await shell(example.main.text, folder));
        expect(gave).toEqual(said);
      },
    );
  });
});
