import { describe, expect, it } from 'vitest';
import { PackageCatalogue } from './catalogue.ts';
import { closureOf, parseRequest } from './closure.ts';
import { readRelations } from './control.ts';

type Fields = Readonly<Record<string, string>>;

/** Returns a catalogue of packages, each `name version` with further fields. */
function catalogueOf(packages: readonly (readonly [string, Fields?])[]): PackageCatalogue {
  const catalogue = new PackageCatalogue();
  const texts = packages.map(([nameAndVersion, fields = {}]) => {
    const [name = '', version = '1'] = nameAndVersion.split(' ');
    const record = {
      Package: name,
      Version: version,
      Architecture: 'amd64',
      ...fields,
      Filename: `pool/${name}.deb`,
      Size: '1',
      SHA256: 'a'.repeat(64),
    };
    return Object.entries(record)
      .map(([key, value]) => `${key}: ${value}`)
      .join('\n');
  });
  catalogue.add(texts.join('\n\n'), { baseUrl: 'https://mirror.test/debian/' });
  return catalogue;
}

const solve = (
  catalogue: PackageCatalogue,
  entries: readonly string[],
  assumedNames?: ReadonlySet<string>,
): string[] =>
  closureOf(
    entries.map((entry) => parseRequest(entry, 'amd64')),
    catalogue,
    assumedNames,
  ).map(({ name, version }) => `${name} ${version}`);

describe('system packages', () => {
  it('include their direct and indirect dependencies', () => {
    const catalogue = catalogueOf([
      ['a', { Depends: 'b (>= 2), c', 'Pre-Depends': 'd' }],
      ['b 2', { Depends: 'c' }],
      ['c'],
      ['d'],
      ['e'],
    ]);
    expect(solve(catalogue, ['a'])).toEqual(['a 1', 'b 2', 'c 1', 'd 1']);
  });

  it('have the newest version, or the requested one', () => {
    const catalogue = catalogueOf([['a 1.2'], ['a 1.10'], ['a 1.9']]);
    expect([solve(catalogue, ['a']), solve(catalogue, ['a=1.9'])]).toEqual([['a 1.10'], ['a 1.9']]);
  });

  it('use the first available alternative', () => {
    const catalogue = catalogueOf([['a', { Depends: 'none | b | c' }], ['b'], ['c']]);
    expect(solve(catalogue, ['a'])).toEqual(['a 1', 'b 1']);
  });

  it('prefer an alternative that is already chosen', () => {
    const catalogue = catalogueOf([['a', { Depends: 'b | c' }], ['b'], ['c']]);
    expect(solve(catalogue, ['c', 'a'])).toEqual(['a 1', 'c 1']);
  });

  it('may be provided by other packages, with the stated version', () => {
    const catalogue = catalogueOf([
      ['a', { Depends: 'mail-agent, lib (>= 3)' }],
      ['x', { Provides: 'mail-agent' }],
      ['y', { Provides: 'lib (= 4), mail-agent' }],
      ['z', { Provides: 'lib' }],
    ]);
    expect(solve(catalogue, ['a'])).toEqual(['a 1', 'x 1', 'y 1']);
  });

  it('are found by backtracking if a dependency conflicts with a chosen package', () => {
    const catalogue = catalogueOf([
      ['a', { Depends: 'b | c' }],
      ['b', { Depends: 'd' }],
      ['c'],
      ['d', { Conflicts: 'e' }],
      ['e'],
    ]);
    expect(solve(catalogue, ['e', 'a'])).toEqual(['a 1', 'c 1', 'e 1']);
  });

  it('may depend on each other', () => {
    expect(
      solve(
        catalogueOf([
          ['a', { Depends: 'b' }],
          ['b', { Depends: 'a' }],
        ]),
        ['a'],
      ),
    ).toEqual(['a 1', 'b 1']);
  });

  it('are omitted as dependencies if they are assumed, and included if they are requested', () => {
    const catalogue = catalogueOf([['a', { Depends: 'debconf (>= 1) | debconf-2.0' }], ['debconf']]);
    const assumedNames = new Set(['debconf']);
    expect([solve(catalogue, ['a'], assumedNames), solve(catalogue, ['a', 'debconf'], assumedNames)]).toEqual(
      [['a 1'], ['a 1', 'debconf 1']],
    );
  });

  it.each([
    [['nope'], 'package_not_found', /no system package nope/],
    [['a=9'], 'version_not_found', /no version 9 of the system package a; available: 1/],
    [['v=9'], 'version_not_found', /it is a virtual package/],
    [['b'], 'resolution_conflict', /b 1 needs none \(>= 2\), which is in none of the archives/],
    [['a', 'c'], 'resolution_conflict', /c 1 conflicts with a 1/],
    [['a:s390x'], 'incompatible_platform', /a:s390x is for s390x/],
  ] as const)('%s fail with %s', (entries, code, message) => {
    const catalogue = catalogueOf([
      ['a'],
      ['b', { Depends: 'none (>= 2)' }],
      ['c', { Breaks: 'a (<< 2)' }],
      ['p', { Provides: 'v' }],
    ]);
    expect(() => solve(catalogue, entries)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error,
    );
  });
});

describe('relations', () => {
  it('are parsed with versions but without architectures and profiles; invalid ones are skipped', () => {
    expect(readRelations('a:any (>= 1:2-3~), b [amd64] <!nocheck> | c (<2), ${misc:Depends}')).toEqual([
      [{ name: 'a', version: { operator: '>=', value: '1:2-3~' } }],
      [{ name: 'b' }, { name: 'c', version: { operator: '<=', value: '2' } }],
    ]);
  });
});
