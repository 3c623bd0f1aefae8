import { describe, expect, it } from 'vitest';
import { resolveWithDetails, resolve, type Releases } from '../../../../../test/support/python/releases.ts';
import { isImageError } from '../../error.ts';
import type { ResolveOptions } from './resolution.ts';

/** Returns `code: message` of the error that the resolution throws. */
async function resolutionError(
  requirements: readonly string[],
  releases: Releases,
  options: Partial<ResolveOptions> = {},
): Promise<string> {
  try {
    return `resolved: ${(await resolve(requirements, releases, options)).join(', ')}`;
  } catch (error) {
    return isImageError(error) ? `${error.code}: ${error.message}` : `not an ImageError: ${String(error)}`;
  }
}

describe('a resolution', () => {
  it.each<[title: string, requirements: string[], releases: Releases, expected: string]>([
    [
      'a URL',
      ['a @ https://x.test/a.whl'],
      {},
      'invalid_specifier: a @ https://x.test/a.whl names a URL. Name an index package with an optional range.',
    ],
    [
      'nonsense',
      ['a ??'],
      {},
      'invalid_specifier: a ?? is not a requirement such as jinja2 or pydantic>=2,<3. Name an index package with an optional range.',
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
      'version_not_found: No release of a matches a>=3; the newest is 2.',
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
      'no_compatible_wheel: numpy 2.4 has no wheel for Python in the isolate (py3-none-any or cp314-cp314-pyemscripten_2026_0_wasm32); its wheels are for macosx arm64, manylinux x86_64, win_amd64. Use the native runtime, or add a wheel to the configured wheelhouse or Pyodide mirror.',
    ],
    [
      'source code only',
      ['a'],
      { a: { '1': ['b'] }, b: { '1': { tags: [] } } },
      'no_compatible_wheel: b 1 (a 1 needs b) has no wheel for Python in the isolate (py3-none-any or cp314-cp314-pyemscripten_2026_0_wasm32); it is published only as source code. Source distributions are not built: add a wheel to the configured wheelhouse or Pyodide mirror (pip wheel builds one).',
    ],
    [
      'another Python',
      ['a'],
      { a: { '1': { requiresPython: '<3.12' } } },
      'incompatible_platform: No matching release of a supports Python 3.14.2: Python <3.12 is required. Allow other releases.',
    ],
    [
      'yanked releases',
      ['a'],
      { a: { '1': { yanked: 'leaks' } } },
      'version_not_found: a cannot be installed: all matching releases were yanked by their authors or are pre-releases; request one with == to use it.',
    ],
    [
      'files without a digest',
      ['a'],
      { a: { '1': { digest: '' } } },
      'integrity_error: a cannot be installed: the index has no SHA-256 or SHA-512 for its files, which is required.',
    ],
    [
      'a contradiction in the list',
      ['a>=2', 'a<2'],
      { a: { '1': [], '2': [] } },
      'resolution_conflict: These requirements conflict. The specification requires a<2. The specification requires a>=2. Loosen or remove one of them.',
    ],
    [
      'a contradiction between packages',
      ['a', 'b'],
      { a: { '1': ['c<2'], '2': ['c<2'] }, b: { '1': ['c>=2'] }, c: { '1': [], '2': [] } },
      'resolution_conflict: These requirements conflict. The specification requires a. The specification requires b. a 1 to 2 needs c<2. b 1 needs c>=2. Loosen or remove one of them.',
    ],
    [
      'a URL as a requirement of a release',
      ['a'],
      { a: { '1': ['b @ https://x.test/b.whl'] }, b: { '1': [] } },
      'unsupported_package: a 1 needs b @ https://x.test/b.whl, a URL; only packages from an index are installed.',
    ],
    [
      'unreadable metadata',
      ['a'],
      { a: { '1': ['b ??'] } },
      'unsupported_package: The metadata of a 1 cannot be read. Request another release of a.',
    ],
  ])('fails because of %s', async (_title, requirements, releases, expected) => {
    const message = await resolutionError(requirements, releases);
    // The order of the sentences of a conflict depends on the proof.
    expect(sortSentences(message)).toEqual(sortSentences(expected));
  });

  it('tries only a limited number of older releases, and says how to try the others', async () => {
    const releasesNeedingB = Array.from({ length: 30 }, (_, index) => [`${index + 2}`, ['b']] as const);
    const releases: Releases = {
      a: { '1': [], ...Object.fromEntries(releasesNeedingB) },
      b: { '1': { tags: [] } },
    };
    const message = await resolutionError(['a'], releases);
    expect(message).toMatch(/^no_compatible_wheel: b 1 \(a 23 to 31 needs b\)/);
    expect(message).toMatch(/to try them, request a<23\.$/);
    expect(await resolve(['a<8'], releases)).toEqual(['a 1']);
  });

  it('gives up at the step limit or the release limit', async () => {
    const manyReleases = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`${index + 1}`, [`b==${index + 1}`, 'c']]),
    );
    const releases: Releases = {
      a: manyReleases,
      b: Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`${index + 1}`, ['c>5']])),
      c: { '1': ['a'] },
    };
    expect(await resolutionError(['a', 'b'], releases, { maxSteps: 5 })).toMatch(
      /^resolution_conflict: .*step limit/,
    );
    expect(await resolutionError(['a', 'b'], releases, { maxReads: 3 })).toMatch(
      /^resolution_conflict: .*among 3 releases/,
    );
  });

  it('stops when aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(resolveWithDetails(['a'], { a: { '1': [] } }, { signal })).rejects.toThrow('enough');
  });
});

function sortSentences(message: string): string[] {
  return message.split('. ').sort();
}
