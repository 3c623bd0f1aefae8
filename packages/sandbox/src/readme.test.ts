import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSandbox } from './index.ts';

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const codeBlocks = [...readme.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] as string);

describe('the examples of the README', () => {
  it('are found', () => {
    expect(codeBlocks.length).toBeGreaterThan(3);
  });

  it.each(codeBlocks)('print their comments: %#', async (code) => {
    const expected = /console\.log\(.*\); \/\/ (.*)$/m.exec(code)?.[1];
    const args = ['--conditions=@heddle/source', '--input-type=module', '--eval', code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: packageFolder });
    expect(stdout.trim()).toBe(expected);
  });
});

describe('the table of what code can use', () => {
  const [, table = ''] = readme.split('\n## What the code can use\n');
  const rows = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| (.+) \| (.+) \|$/gm)].slice(1);
  /** Names in a column that can be looked up; not syntax or methods. */
  const namesIn = (column: 1 | 2): string[] =>
    rows
      .flatMap((row) => [...(row[column] ?? '').matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name))
      .filter((name) => !['import', 'text', 'json', 'bytes', 'arrayBuffer'].includes(name));

  it('matches the sandbox', async () => {
    const [available, unavailable] = [namesIn(1), namesIn(2)];
    expect([available.length > 25, unavailable.length > 20]).toEqual([true, true]);
    const sandbox = createSandbox();
    onTestFinished(() => sandbox.close());
    const code = `const exists = (name) => {
        try { return eval(name) !== undefined; } catch (error) { if (error instanceof ReferenceError) return false; throw error; }
      };
      return [available.filter((name) => !exists(name)), unavailable.filter(exists), typeof Response.prototype.bytes];`;
    const values = { available: JSON.stringify(available), unavailable: JSON.stringify(unavailable) };
    const outcome = await sandbox.run({ runId: 'table', code, values });
    // With an image there is a `require`.
    expect(outcome.ok && JSON.parse(outcome.json)).toEqual([['require'], [], 'function']);
  });
});
