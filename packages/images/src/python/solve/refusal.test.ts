import { describe, expect, it } from 'vitest';
import { resolution, resolve, type World } from '../../../../../test/support/python/releases.ts';
import { isImageError } from '../../error.ts';
import type { ResolveOptions } from './resolution.ts';

/** `code: message` of the error. */
async function refusal(
  wanted: readonly string[],
  world: World,
  options: Partial<ResolveOptions> = {},
): Promise<string> {
  try {
    return `resolved: ${(await resolve(wanted, world, options)).join(', ')}`;
  } catch (error) {
    return isImageError(error) ? `${error.code}: ${error.message}` : `not an ImageError: ${String(error)}`;
  }
}

describe('what is refused', () => {
  it.each<[title: string, wanted: string[], world: World, expected: string]>([
    [
      'a URL',
      ['a @ https://x.test/a.whl'],
      {},
      'invalid_specifier: a @ https://x.test/a.whl names a URL. Name a package of the index, with an optional range.',
    ],
    [
      'nonsense',
      ['a ??'],
      {},
      'invalid_specifier: a ?? is not a requirement such as jinja2 or pydantic>=2,<3. Name a package of the index, with an optional range.',
    ],
    [
      'an unknown package',
      ['nope'],
      {},
      'package_not_found: There is no Python package nope. Check its spelling and the configured index.',
    ],
    [
      'an unknown requirement',
      ['a'],
      { a: { '1': ['nope>1'], '2': ['nope>1'] } },
      'package_not_found: There is no Python package nope (a 1 to 2 needs nope>1). Check its spelling and the configured index.',
    ],
    [
      'a version that does not exist',
      ['a>=3'],
      { a: { '1': [], '2': [] } },
      'version_not_found: No release of a matches a>=3; the newest one is 2.',
    ],
    [
      'wheels for other platforms',
      ['numpy'],
      {
        numpy: {
          '2.4': {
            tags: [
              'cp314-cp314-manylinux_2_27_x86_64.manylinux_2_28_x86_64',
              'cp314-cp314-win_amd64',
              'cp314-cp314-macosx_14_0_arm64',
            ],
          },
        },
      },
      'no_compatible_wheel: numpy 2.4 has no wheel for Python in the isolate (py3-none-any or cp314-cp314-pyemscripten_2026_0_wasm32); its wheels are for macosx arm64, manylinux x86_64, win_amd64. Use the native runtime, or give a wheel in the configured wheelhouse or Pyodide mirror.',
    ],
    [
      'source code only',
      ['a'],
      { a: { '1': ['b'] }, b: { '1': { tags: [] } } },
      'no_compatible_wheel: b 1 (a 1 needs b) has no wheel for Python in the isolate (py3-none-any or cp314-cp314-pyemscripten_2026_0_wasm32); it is published as source code only. Sources are not built here: give a wheel in the configured wheelhouse or Pyodide mirror; pip wheel makes one.',
    ],
    [
      'another Python',
      ['a'],
      { a: { '1': { python: '<3.12' } } },
      'incompatible_platform: No release of a that matches runs on Python 3.14.2; it asks for Python <3.12. Allow another release of it.',
    ],
    [
      'yanked releases',
      ['a'],
      { a: { '1': { yanked: 'leaks' } } },
      'version_not_found: a cannot be installed: all that match were withdrawn by their authors or are pre-releases; name one exactly (==) to have it.',
    ],
    [
      'files without a digest',
      ['a'],
      { a: { '1': { digest: '' } } },
      'integrity_error: a cannot be installed: the index tells no SHA-256 or SHA-512 of its files, and nothing is installed without.',
    ],
    [
      'a contradiction in the list',
      ['a>=2', 'a<2'],
      { a: { '1': [], '2': [] } },
      'resolution_conflict: These requirements cannot be met together. The list asks for a<2. The list asks for a>=2. Loosen or remove one of them.',
    ],
    [
      'a contradiction between packages',
      ['a', 'b'],
      { a: { '1': ['c<2'], '2': ['c<2'] }, b: { '1': ['c>=2'] }, c: { '1': [], '2': [] } },
      'resolution_conflict: These requirements cannot be met together. The list asks for a. The list asks for b. a 1 to 2 needs c<2. b 1 needs c>=2. Loosen or remove one of them.',
    ],
    [
      'a URL deep inside',
      ['a'],
      { a: { '1': ['b @ https://x.test/b.whl'] }, b: { '1': [] } },
      'unsupported_package: a 1 needs b @ https://x.test/b.whl, a URL; only packages of the index are installed.',
    ],
    [
      'unreadable metadata',
      ['a'],
      { a: { '1': ['b ??'] } },
      'unsupported_package: The metadata of a 1 cannot be read. Ask for another release of a.',
    ],
  ])('%s', async (_title, wanted, world, expected) => {
    const message = await refusal(wanted, world);
    // Of the sentences of a conflict the order is that of the proof.
    expect(sorted(message)).toEqual(sorted(expected));
  });

  it('does not go back for years to a release that needs less', async () => {
    const needy = Array.from({ length: 30 }, (_, at) => [`${at + 2}`, ['b']] as const);
    const world: World = { a: { '1': [], ...Object.fromEntries(needy) }, b: { '1': { tags: [] } } };
    expect(await refusal(['a'], world)).toMatch(/^no_compatible_wheel: b 1 \(a 23 to 31 needs b\)/);
    expect(await refusal(['a'], world)).toMatch(/to do so ask for a<23\.$/);
    expect(await resolve(['a<8'], world)).toEqual(['a 1']);
  });

  it('gives up after a number of steps or of releases that it read', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`${at + 1}`, [`b==${at + 1}`, 'c']]),
    );
    const world: World = {
      a: many,
      b: Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`${at + 1}`, ['c>5']])),
      c: { '1': ['a'] },
    };
    expect(await refusal(['a', 'b'], world, { maxSteps: 5 })).toMatch(
      /^resolution_conflict: .*limit of steps/,
    );
    expect(await refusal(['a', 'b'], world, { maxReads: 3 })).toMatch(
      /^resolution_conflict: .*among 3 releases/,
    );
  });

  it('stops when it is told to', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(resolution(['a'], { a: { '1': [] } }, { signal })).rejects.toThrow('enough');
  });
});

function sorted(message: string): string[] {
  return message.split('. ').sort();
}
