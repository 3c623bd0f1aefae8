import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';

interface Patch {
  readonly why: string;
  readonly from: string;
  readonly to: string;
}

const { PATCHES, patch } = (await import(new URL('../python-patches.mjs', import.meta.url).href)) as {
  PATCHES: Readonly<Record<string, readonly Patch[]>>;
  patch(file: string, text: string): string;
};
const require = createRequire(import.meta.url);
const cases = Object.entries(PATCHES).flatMap(([file, patches]) =>
  patches.map((change): [string, string, Patch] => [file, change.why, change]),
);

describe('the changes in Pyodide', () => {
  it.each(cases)('are made in one place of %s: %s', (file, _why, { from, to }) => {
    const text = readFileSync(require.resolve(`pyodide/${file}`), 'utf8');
    expect(text.split(from)).toHaveLength(2);
    const changed = patch(file, text);
    // The texts are of a megabyte: a failure does not show them.
    expect([changed.includes(to), changed === text]).toEqual([true, false]);
  });

  it.each(cases)('end the build where %s has that place no more, or twice: %s', (file, why, { from }) => {
    const all = PATCHES[file]!.map((change) => change.from).join('\n');
    expect(patch(file, all)).not.toBe(all);
    expect(() => patch(file, all.replace(from, ''))).toThrow(why);
    expect(() => patch(file, all + from)).toThrow('has 2 places');
  });
});
