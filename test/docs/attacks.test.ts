import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GROUPS } from '../attacks/groups.ts';
import { readPage, repository } from './markdown.ts';

const page = readPage('docs/sandbox-attacks.md');
const findFiles = (pattern: string): string[] =>
  globSync(pattern, { cwd: `${repository}test/attacks` }).map((file) => file.replaceAll('\\', '/'));

describe('docs/sandbox-attacks.md', () => {
  it('has each group with its file and its number of attacks', () => {
    const rows = [
      ...page.matchAll(/^\| \[(.+?)\]\(\.\.\/test\/attacks\/((?:javascript|python)\/.+?)\) \| (\d+) \|/gm),
    ];
    expect(rows.map(([, name, file, count]) => [name, file, Number(count)])).toEqual(
      Object.entries(GROUPS).map(([file, { name, attacks }]) => [name, file, attacks.length]),
    );
    expect(findFiles('*/*.ts').sort()).toEqual(Object.keys(GROUPS).sort());
  });

  it('lists every test file that does not run the attacks of a group', () => {
    const listedFiles = [...page.matchAll(/^\| \[([\w-]+\.test\.ts)\]/gm)].map(([, file]) => file);
    const groupTests = [
      'bridge',
      'builtins',
      'egress',
      'exhaustion',
      'host',
      'leaks',
      'python-interpreter',
      'python-exhaustion',
      'python-packages',
      'python',
      'time',
    ].map((name) => `${name}.test.ts`);
    expect(listedFiles).toEqual(
      findFiles('*.test.ts')
        .filter((file) => !groupTests.includes(file))
        .sort(),
    );
  });

  it('lists attacks with unique ids and titles', () => {
    const attacks = Object.values(GROUPS).flatMap((group) => group.attacks);
    expect(new Set(attacks.map(({ id }) => id)).size).toBe(attacks.length);
    for (const { name, attacks: groupAttacks } of Object.values(GROUPS))
      expect(new Set(groupAttacks.map(({ title }) => title)).size, name).toBe(groupAttacks.length);
  });
});
