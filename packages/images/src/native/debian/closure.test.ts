import { describe, expect, it } from 'vitest';
import { PackageCatalogue } from './catalogue.ts';
import { closureOf, parseRequest } from './closure.ts';
import { readRelations } from './control.ts';

type Fields = Readonly<Record<string, string>>;

/** An archive of packages, each `name version` with further fields. */
function archive(packages: readonly (readonly [string, Fields?])[]): PackageCatalogue {
  const catalogue = new PackageCatalogue();
  const texts = packages.map(([title, fields = {}]) => {
    const [name = '', version = '1'] = title.split(' ');
    const own = {
      Package: name,
      Version: version,
      Architecture: 'amd64',
      ...fields,
      Filename: `pool/${name}.deb`,
      Size: '1',
      SHA256: 'a'.repeat(64),
    };
    return Object.entries(own)
      .map(([key, value]) => `${key}: ${value}`)
      .join('\n');
  });
  catalogue.add(texts.join('\n\n'), { root: 'https://mirror.test/debian/' });
  return catalogue;
}

const solve = (
  catalogue: PackageCatalogue,
  entries: readonly string[],
  assumed?: ReadonlySet<string>,
): string[] =>
  closureOf(
    entries.map((entry) => parseRequest(entry, 'amd64')),
    catalogue,
    assumed,
  ).map(({ name, version }) => `${name} ${version}`);

describe('system packages', () => {
  it('come with what they need, and with what that needs', () => {
    const all = archive([
      ['a', { Depends: 'b (>= 2), c', 'Pre-Depends': 'd' }],
      ['b 2', { Depends: 'c' }],
      ['c'],
      ['d'],
      ['e'],
    ]);
    expect(solve(all, ['a'])).toEqual(['a 1', 'b 2', 'c 1', 'd 1']);
  });

  it('are the newest of their name, or the one that is asked for', () => {
    const all = archive([['a 1.2'], ['a 1.10'], ['a 1.9']]);
    expect([solve(all, ['a']), solve(all, ['a=1.9'])]).toEqual([['a 1.10'], ['a 1.9']]);
  });

  it('take the first alternative that can be had', () => {
    const all = archive([['a', { Depends: 'none | b | c' }], ['b'], ['c']]);
    expect(solve(all, ['a'])).toEqual(['a 1', 'b 1']);
  });

  it('keep what is chosen where it is an alternative', () => {
    const all = archive([['a', { Depends: 'b | c' }], ['b'], ['c']]);
    expect(solve(all, ['c', 'a'])).toEqual(['a 1', 'c 1']);
  });

  it('may be provided by others, with the version that these say', () => {
    const all = archive([
      ['a', { Depends: 'mail-agent, lib (>= 3)' }],
      ['x', { Provides: 'mail-agent' }],
      ['y', { Provides: 'lib (= 4), mail-agent' }],
      ['z', { Provides: 'lib' }],
    ]);
    expect(solve(all, ['a'])).toEqual(['a 1', 'x 1', 'y 1']);
  });

  it('go back where what they need excludes what is chosen', () => {
    const all = archive([
      ['a', { Depends: 'b | c' }],
      ['b', { Depends: 'd' }],
      ['c'],
      ['d', { Conflicts: 'e' }],
      ['e'],
    ]);
    expect(solve(all, ['e', 'a'])).toEqual(['a 1', 'c 1', 'e 1']);
  });

  it('may need each other', () => {
    expect(
      solve(
        archive([
          ['a', { Depends: 'b' }],
          ['b', { Depends: 'a' }],
        ]),
        ['a'],
      ),
    ).toEqual(['a 1', 'b 1']);
  });

  it('are not taken for others where they are assumed, and are where they are named', () => {
    const all = archive([['a', { Depends: 'debconf (>= 1) | debconf-2.0' }], ['debconf']]);
    const assumed = new Set(['debconf']);
    expect([solve(all, ['a'], assumed), solve(all, ['a', 'debconf'], assumed)]).toEqual([
      ['a 1'],
      ['a 1', 'debconf 1'],
    ]);
  });

  it.each([
    [['nope'], 'package_not_found', /no system package nope/],
    [['a=9'], 'version_not_found', /no version 9 of the system package a; there is 1/],
    [['v=9'], 'version_not_found', /a name that other packages provide/],
    [['b'], 'resolution_conflict', /b 1 needs none \(>= 2\), which is in none of the archives/],
    [['a', 'c'], 'resolution_conflict', /c 1 does not go with a 1/],
    [['a:s390x'], 'incompatible_platform', /a:s390x is for s390x/],
  ] as const)('%s fails with %s', (entries, code, message) => {
    const all = archive([
      ['a'],
      ['b', { Depends: 'none (>= 2)' }],
      ['c', { Breaks: 'a (<< 2)' }],
      ['p', { Provides: 'v' }],
    ]);
    expect(() => solve(all, entries)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error,
    );
  });
});

describe('relations', () => {
  it('are read with versions, architectures and profiles; what is none is left out', () => {
    expect(readRelations('a:any (>= 1:2-3~), b [amd64] <!nocheck> | c (<2), ${misc:Depends}')).toEqual([
      [{ name: 'a', version: { operator: '>=', than: '1:2-3~' } }],
      [{ name: 'b' }, { name: 'c', version: { operator: '<=', than: '2' } }],
    ]);
  });
});
