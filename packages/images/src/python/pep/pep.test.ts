import { describe, expect, it } from 'vitest';
import { evaluateMarker, parseMarker } from './marker.ts';
import { parseMetadata } from './metadata.ts';
import { parseRequirement } from './requirement.ts';
import { targetOf } from './target.ts';
import {
  satisfiesSpecifier,
  compareNewestFirst,
  parseSpecifier,
  pinsVersion,
  allowsPreReleases,
} from './version.ts';
import { parseWheelName, tagRank } from './wheel-name.ts';

const target = targetOf({ python: '3.14.2', abiVersion: '2026_0', platform: 'emscripten_5_0_3' });

const allows = (specifier: string, version: string): boolean | undefined => {
  const parsed = parseSpecifier(specifier);
  return parsed && satisfiesSpecifier(version, parsed);
};

describe('versions', () => {
  // Results of the reference implementation, the Python package `packaging`.
  it.each([
    ['==1.0', '1', true],
    ['==1.0', '1.0+abc', true],
    ['==1.0+abc', '1.0', false],
    ['==1.0.*', '1', true],
    ['==1.1.*', '1.1.0.post1', true],
    ['==1.*', '1!1.0', false],
    ['!=1.1.*', '1.10', true],
    ['!=1.0', '1.0.post1', true],
    ['>=1.0', '1.0.dev1', false],
    ['<2.0', '2.0rc1', false],
    ['<2.0', '1.0', true],
    ['<2.0rc1', '2.0.dev1', true],
    ['<1.0.post1', '1.0a1', true],
    ['>1.0', '1.0.post1', false],
    ['>1.0', '1.0+abc', false],
    ['>1.0a1', '1.0', true],
    ['>1.0a1', '1.0.post1', true],
    ['~=1.4.5', '1.4.9', true],
    ['~=1.4.5', '1.5', false],
    ['~=1.4', '1.99', true],
    ['~=2.2.post3', '2.9', true],
    ['===1.0', '1.0.0', false],
    ['===oddity', 'Oddity', true],
    ['>=1,<2,!=1.5', '1.5.0', false],
    ['>=1,', '1.1', true],
    ['', '0.1a1', true],
    ['~=1', '1.0', undefined],
    ['>=1.*', '1.0', undefined],
    ['==1.0a1.*', '1.0', undefined],
    ['<1.0+abc', '1.0', undefined],
    ['=1', '1', undefined],
  ])('%s allows %s: %s', (specifier, version, expected) => {
    expect(allows(specifier, version)).toBe(expected);
  });

  it('are sorted newest first, invalid ones last', () => {
    const versions = ['1.0', 'odd', '1.0.post1', '1.0rc1', '1!0.1', '1.0.dev3', '1.0b2'];
    expect(versions.sort(compareNewestFirst)).toEqual([
      '1!0.1',
      '1.0.post1',
      '1.0',
      '1.0rc1',
      '1.0b2',
      '1.0.dev3',
      'odd',
    ]);
  });

  it('can be pinned by a specifier, which can also request pre-releases', () => {
    const specifierOf = (text: string) => parseSpecifier(text) ?? { text, clauses: [] };
    expect([
      allowsPreReleases(specifierOf('>=2.0b1')),
      allowsPreReleases(specifierOf('>=2,<3.0rc1')),
      allowsPreReleases(specifierOf('!=2a1')),
    ]).toEqual([true, false, false]);
    expect([
      pinsVersion(specifierOf('==1.0'), '1'),
      pinsVersion(specifierOf('==1.*'), '1.0'),
      pinsVersion(specifierOf('===1.0'), '1.0'),
    ]).toEqual([true, false, true]);
  });
});

describe('markers', () => {
  it.each([
    ["python_version < '3.8'", false],
    ["python_version >= '3.10' and sys_platform == 'linux'", false],
    ["(python_version > '3.9' or os_name == 'nt') and extra == 'dev'", true],
    ["extra == 'Dev'", true],
    ["sys_platform in 'linux emscripten'", true],
    ["platform_machine not in 'x86_64 aarch64'", true],
    ["python_full_version <= '3.14.0'", false],
    ["'3.12' <= python_version", true],
    ["implementation_name == \"cpython\" and extra == 'x' or os_name == 'posix'", true],
    ["platform_system == 'Windows'", false],
    ["sys.platform == 'emscripten'", true],
    ["python_version == '3.*'", true],
    ['python_version >', undefined],
    ["python_version > '3' and", undefined],
    ["nonsense == '3'", undefined],
    ["(python_version > '3'", undefined],
    ["python_version > '3' $", undefined],
  ])('%s: %s', (text, expected) => {
    const marker = parseMarker(text);
    expect(marker && evaluateMarker(marker, { ...target.markers, extra: 'dev' })).toBe(expected);
  });
});

describe('requirements', () => {
  it.each([
    ['Jinja2', 'jinja2', [], ''],
    ['zope.interface [test, Docs] >= 5 , < 6', 'zope-interface', ['docs', 'test'], '>=5,<6'],
    ['requests (>=2.8.1)', 'requests', [], '>=2.8.1'],
    ["typing_extensions>=4.6 ; python_version < '3.13'", 'typing-extensions', [], '>=4.6'],
  ])('%s', (text, name, extras, specifier) => {
    const requirement = parseRequirement(text);
    expect(requirement).toMatchObject({ name, extras, specifier: { text: specifier } });
    expect(requirement?.url).toBeUndefined();
  });

  it('may have a URL, and are refused if invalid', () => {
    expect(parseRequirement("pip @ https://example.org/pip.whl ; python_version > '3'")).toMatchObject({
      name: 'pip',
      url: 'https://example.org/pip.whl',
    });
    for (const text of ['', '-e .', 'a b', 'a==', 'a[b', "a; nonsense == 'x'", 'a[../b]']) {
      expect(parseRequirement(text), text).toBeUndefined();
    }
  });
});

describe('wheels', () => {
  it('have names with compressed tags and build tags', () => {
    expect(parseWheelName('Foo_Bar-1.0-2b-py2.py3-none-any.whl')).toEqual({
      name: 'foo-bar',
      version: '1.0',
      buildTag: [2, 'b'],
      tags: ['py2-none-any', 'py3-none-any'],
    });
    for (const name of [
      'a-1.0.tar.gz',
      'a-1.0-py3-none.whl',
      'a-x-py3-none-any.whl',
      '../a-1.0-py3-none-any.whl',
      'a-1.0-b-py3-none-any.whl',
    ]) {
      expect(parseWheelName(name), name).toBeUndefined();
    }
  });

  it("rank by ABI: the interpreter's own ABI, the stable ABI, none; others are incompatible", () => {
    const rank = (tags: string): number | undefined => {
      const wheel = parseWheelName(`a-1-${tags}.whl`);
      return wheel && tagRank(wheel, target);
    };
    const orderedTags = [
      'cp314-cp314-pyemscripten_2026_0_wasm32',
      'cp310-abi3-pyemscripten_2026_0_wasm32',
      'py3-none-any',
      'py312-none-any',
    ];
    const ranks = orderedTags.map(rank);
    expect(ranks).toEqual([...ranks].sort((a, b) => Number(a) - Number(b)));
    expect(ranks).not.toContain(undefined);
    for (const tags of [
      'cp313-cp313-pyemscripten_2025_0_wasm32',
      'cp315-abi3-pyemscripten_2026_0_wasm32',
      'py2-none-any',
      'cp314-cp314-manylinux_2_28_x86_64',
      'cp314-cp314t-pyemscripten_2026_0_wasm32',
    ]) {
      expect(rank(tags), tags).toBeUndefined();
    }
  });

  it('have metadata, which ends before the description', () => {
    const text =
      'Metadata-Version: 2.1\r\nName: Foo\r\nVersion: 1.0\r\nRequires-Dist: a (>=1)\r\nRequires-Dist: b\r\n ; extra == "x"\r\nRequires-Python: >=3.9\r\n\r\nRequires-Dist: evil\r\n';
    expect(parseMetadata(text)).toEqual({
      name: 'Foo',
      version: '1.0',
      requires: ['a (>=1)', 'b ; extra == "x"'],
      requiresPython: '>=3.9',
    });
    expect(parseMetadata('Name: x\n')).toBeUndefined();
  });
});
