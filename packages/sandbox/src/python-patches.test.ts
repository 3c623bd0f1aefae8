import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';

interface Patch {
  readonly reason: string;
  readonly from: string;
  readonly to: string;
}

const { PATCHES, patch } = (await import(new URL('../python-patches.mjs', import.meta.url).href)) as {
  PATCHES: Readonly<Record<string, readonly Patch[]>>;
  patch(file: string, text: string): string;
};
const require = createRequire(import.meta.url);
const cases = Object.entries(PATCHES).flatMap(([file, patches]) =>
  patches.map((change): [string, string, Patch] => [file, change.reason, change]),
);

describe('the patches of Pyodide', () => {
  it.each(cases)('each match %s exactly once: %s', (file, _reason, { from, to }) => {
    const text = readFileSync(require.resolve(`pyodide/${file}`), 'utf8');
    expect(text.split(from)).toHaveLength(2);
    const patchedText = patch(file, text);
    // Not toContain: a failure would print megabytes.
    expect([patchedText.includes(to), patchedText === text]).toEqual([true, false]);
  });

  it.each(cases)('fail the build if %s does not match exactly once: %s', (file, reason, { from }) => {
    const unpatchedText = PATCHES[file]!.map((change) => change.from).join('\n');
    expect(patch(file, unpatchedText)).not.toBe(unpatchedText);
    expect(() => patch(file, unpatchedText.replace(from, ''))).toThrow(reason);
    expect(() => patch(file, unpatchedText + from)).toThrow('has 2 matches');
  });
});
