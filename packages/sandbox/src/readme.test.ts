import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const home = fileURLToPath(new URL('..', import.meta.url));
const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const blocks = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] as string);

describe('the examples of the README', () => {
  it('are several', () => {
    expect(blocks.length).toBeGreaterThan(3);
  });

  it.each(blocks)('print what they say: %#', async (code) => {
    const said = /console\.log\(.*\); \/\/ (.*)$/m.exec(code)?.[1];
    const args = ['--conditions=@heddle/source', '--input-type=module', '--eval', code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: home });
    expect(stdout.trim()).toBe(said);
  });
});
