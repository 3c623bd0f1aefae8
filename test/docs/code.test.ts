import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { walk } from '../repo/sources.ts';
import { sample } from '../support/scale.ts';
import { codeIn, codeBlocksOf, pages, readPage, repository, tablesOf } from './markdown.ts';

/**
 * The TypeScript code of all pages. The types of all code are checked. Snippets with the attribute `run` are also run,
 * and their output is compared with the comments after `console.log`.
 */
const codeBlocks = pages
  .flatMap((page) => codeBlocksOf(page, readPage(page)))
  .filter(({ language }) => language === 'ts');
const snippets = codeBlocks.filter(({ attributes }) => attributes.has('run'));
const sampledSnippets = sample(snippets, Math.ceil(snippets.length / 5), 'snippets that are run');

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-code-'));
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: {
      // A snippet may declare names that only the reader's next step uses.
      noUnusedLocals: false,
      // Without conditions, the types are the installed declarations.
      customConditions: [],
      typeRoots: [join(repository, 'node_modules/@types')],
    },
    include: ['*.ts'],
  };
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  for (const { location, text } of codeBlocks) writeFileSync(join(folder, fileName(location)), text);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileName(location: string): string {
  return `${location.replaceAll(/\W/g, '-')}.ts`;
}

/** Runs Node.js with these arguments. Returns stdout; if the program fails, also stderr. */
function runNode(...args: string[]): Promise<string> {
  return new Promise((resolve) => {
    const options = {
      cwd: folder,
      env: { NO_COLOR: '1', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      resolve(error ? `${stdout}${stderr}` : stdout);
    });
  });
}

/** Returns the expected output of the code: the comment after each `console.log`. */
function readExpectedOutput(code: string): string {
  return [...code.matchAll(/^.*\bconsole\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]).join('\n');
}

/** Returns the names of an interface's properties. */
function propertiesOf(text: string, name: string): string[] {
  const names: string[] = [];
  walk(parseSync('x.ts', text).program.body, (declaration) => {
    if (declaration['type'] !== 'TSInterfaceDeclaration') return;
    if ((declaration['id'] as { name: string }).name !== name) return;
    const { body } = declaration['body'] as { body: { key: { name: string } }[] };
    names.push(...body.map(({ key }) => key.name));
  });
  return names;
}

/** Each test starts a process, which is slow on a busy machine. */
const SLOW_TEST_OPTIONS = { timeout: 120_000 };

describe('the code of the documentation', () => {
  it('is found, and every snippet that is run has an expected output', () => {
    expect(snippets.length).toBeGreaterThan(9);
    expect(codeBlocks.some(({ location }) => location.startsWith('README.md:'))).toBe(true);
    expect(
      snippets.filter(({ text }) => readExpectedOutput(text) === '').map(({ location }) => location),
    ).toEqual([]);
  });

  it('has the right types', SLOW_TEST_OPTIONS, async () => {
    const tsc = join(repository, 'node_modules/typescript/bin/tsc');
    expect(await runNode(tsc, '-p', join(folder, 'tsconfig.json'))).toBe('');
  });

  it.each(sampledSnippets.map((snippet) => [snippet.location, snippet] as const))(
    'prints the output in its comments: %s',
    SLOW_TEST_OPTIONS,
    async (_, { location, text }) => {
      const printedOutput = await runNode('--conditions=@heddle/source', join(folder, fileName(location)));
      expect(printedOutput.trim()).toBe(readExpectedOutput(text));
    },
  );
});

describe('the options in the engine’s README', () => {
  it.each([
    ['options', 'EngineOptions', 'options.ts'],
    ['options of a run', 'ExecuteOptions', 'types.ts'],
  ])('are complete and current: %s', (tableName, interfaceName, file) => {
    const readme = 'packages/engine/README.md';
    const rows = tablesOf(readme, readPage(readme)).find(({ name }) => name === tableName)?.rows ?? [];
    const names = propertiesOf(readPage(`packages/engine/src/${file}`), interfaceName);
    expect(names.length).toBeGreaterThan(7);
    expect(rows.map(({ cells }) => codeIn(cells[0] ?? ''))).toEqual(names);
  });
});
