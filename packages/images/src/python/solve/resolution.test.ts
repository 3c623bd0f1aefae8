import { describe, expect, it } from 'vitest';
import {
  resolveWithDetails,
  resolve,
  createSource,
  target,
  type Releases,
} from '../../../../../test/support/python/releases.ts';
import type { Source } from '../sources/source.ts';
import { resolveRequirements } from './resolution.ts';

describe('chosen releases', () => {
  it.each<[title: string, requirements: string[], releases: Releases, chosen: string[]]>([
    ['none without requirements', [], {}, []],
    ['the newest release', ['A'], { a: { '1.0': [], '1.10': [], '1.9': [] } }, ['a 1.10']],
    ['the newest in the range', ['a<1.10'], { a: { '1.0': [], '1.10': [], '1.9': [] } }, ['a 1.9']],
    [
      'a dependency, by any spelling of its name',
      ['a'],
      { a: { '1': ['B.c_D>=2'] }, 'b-c-d': { '1': [], '2': [] } },
      ['a 1', 'b-c-d 2'],
    ],
    [
      'an older release if the newest conflicts',
      ['a', 'b'],
      { a: { '1': [], '2': ['c>=2'] }, b: { '1': ['c<2'] }, c: { '1': [], '2': [] } },
      ['a 1', 'b 1', 'c 1'],
    ],
    [
      'older releases, after backtracking over several packages',
      ['a', 'b'],
      {
        a: { '3': ['x>=3'], '2': ['x>=2'], '1': ['x>=1'] },
        b: { '1': ['y'] },
        y: { '1': ['z'] },
        z: { '1': ['x<2'] },
        x: { '1': [], '2': [], '3': [] },
      },
      ['a 1', 'b 1', 'x 1', 'y 1', 'z 1'],
    ],
    ['releases that require each other', ['a'], { a: { '1': ['b'] }, b: { '1': ['a'] } }, ['a 1', 'b 1']],
    [
      'only requirements whose marker is true on the target',
      ['a', "w; sys_platform == 'win32'"],
      { a: { '1': ["b; sys_platform == 'emscripten'", "c; python_version < '3.14'"] }, b: { '1': [] } },
      ['a 1', 'b 1'],
    ],
    [
      'the requirements of an extra',
      ['a[Fast]'],
      { a: { '1': ["b; extra == 'fast'", "c; extra == 'slow'", 'd'] }, b: { '1': [] }, d: { '1': [] } },
      ['a 1', 'b 1', 'd 1'],
    ],
    [
      'extras of extras',
      ['a[all]'],
      {
        a: { '1': ["a[x,y]; extra == 'all'", "b; extra == 'x'", "c; extra == 'y'"] },
        b: { '1': [] },
        c: { '1': [] },
      },
      ['a 1', 'b 1', 'c 1'],
    ],
    [
      'an older release whose extra can be installed',
      ['a[x]'],
      { a: { '2': ["nothing; extra == 'x'"], '1': ["b; extra == 'x'"] }, b: { '1': [] } },
      ['a 1', 'b 1'],
    ],
    ['no pre-release', ['a'], { a: { '1.0': [], '2.0b1': [] } }, ['a 1.0']],
    ['a requested pre-release', ['a>=2.0b1'], { a: { '1.0': [], '2.0b1': [] } }, ['a 2.0b1']],
    [
      'a pre-release that another package requests',
      ['a', 'b'],
      { a: { '1.0': [], '2.0b1': [] }, b: { '1': ['a>=2.0b1'] } },
      ['a 2.0b1', 'b 1'],
    ],
    ['a pre-release without a final release', ['a'], { a: { '2.0b1': [], '2.0b2': [] } }, ['a 2.0b2']],
    ['no yanked release', ['a'], { a: { '1': [], '2': { yanked: 'broken' } } }, ['a 1']],
    ['a yanked release that is pinned', ['a==2'], { a: { '1': [], '2': { yanked: '' } } }, ['a 2']],
    [
      'a yanked release that a package pins',
      ['a', 'b'],
      { a: { '1': [], '2': { yanked: '' } }, b: { '1': ['a==2'] } },
      ['a 2', 'b 1'],
    ],
    [
      'a release that runs on this Python',
      ['a'],
      { a: { '1': [], '2': { requiresPython: '>=3.15' } } },
      ['a 1'],
    ],
    [
      'a release that has a wheel',
      ['a'],
      { a: { '1': [], '2': { tags: ['cp314-cp314-manylinux_2_28_x86_64'] }, '3': { tags: [] } } },
      ['a 1'],
    ],
    [
      'a release whose requirement has a wheel',
      ['a'],
      { a: { '1': ['b==1'], '2': ['b==2'] }, b: { '1': [], '2': { tags: ['cp314-cp314-win_amd64'] } } },
      ['a 1', 'b 1'],
    ],
    [
      'an older release rather than one whose requirement does not exist',
      ['a'],
      { a: { '1': [], '2': ['ghost'] } },
      ['a 1'],
    ],
    [
      'an older release rather than one that needs a URL',
      ['a'],
      { a: { '1': [], '2': ['b @ https://x.test/b.whl'] } },
      ['a 1'],
    ],
    [
      'an older release rather than one with unreadable requirements',
      ['a'],
      { a: { '1': [], '2': ['b ??'] } },
      ['a 1'],
    ],
  ])('%s', async (_title, requirements, releases, chosen) => {
    expect(await resolve(requirements, releases)).toEqual(chosen);
  });

  it('have the wheel for the platform', async () => {
    const releases: Releases = {
      a: {
        '1': {
          tags: [
            'py3-none-any',
            'cp311-abi3-pyemscripten_2026_0_wasm32',
            'cp314-cp314-manylinux_2_28_x86_64',
          ],
        },
      },
    };
    const { chosenReleases } = await resolveWithDetails(['a'], releases);
    expect(chosenReleases[0]?.availableWheel.filename).toBe('a-1-cp311-abi3-pyemscripten_2026_0_wasm32.whl');
  });

  it('come with a warning that explains why the newest release was not chosen', async () => {
    const releases: Releases = {
      a: { '1': [], '2': { tags: ['cp314-cp314-win_amd64'] } },
      b: { '1': [], '2': ['ghost'] },
    };
    const { warnings } = await resolveWithDetails(['a', 'b'], releases);
    expect(warnings).toEqual([
      'a: 1 was chosen, because 2 has no wheel for this platform.',
      'b: 1 was chosen, because 2 conflicts with other packages.',
    ]);
  });
});

describe('sources', () => {
  const manylinux = { tags: ['cp314-cp314-manylinux_2_28_x86_64'] };

  it.each<[title: string, definitions: [Source['kind'], Releases][], chosen: string]>([
    [
      'a wheelhouse is used exclusively',
      [
        ['wheelhouse', { a: { '1': [] } }],
        ['index', { a: { '9': [] } }],
      ],
      'wheelhouse a 1',
    ],
    [
      'a wheelhouse without a wheel for the target is ignored',
      [
        ['wheelhouse', { a: { '1': manylinux } }],
        ['index', { a: { '9': [] } }],
      ],
      'index a 9',
    ],
    [
      'only the first index with the project is used',
      [
        ['index', { a: { '1': [] } }],
        ['index', { a: { '9': [] } }],
      ],
      'index a 1',
    ],
    [
      'Pyodide provides a project for which the index has no wheel',
      [
        ['index', { a: { '9': manylinux } }],
        ['pyodide', { a: { '5': [] } }],
      ],
      'pyodide a 5',
    ],
    [
      'the index takes precedence over Pyodide',
      [
        ['index', { a: { '4': [] } }],
        ['pyodide', { a: { '5': [] } }],
      ],
      'index a 4',
    ],
    [
      'Pyodide provides a project that no index has',
      [
        ['index', {}],
        ['pyodide', { a: { '5': [] } }],
      ],
      'pyodide a 5',
    ],
  ])('%s', async (_title, definitions, expected) => {
    const sources = definitions.map(([kind, releases]) => createSource(releases, kind));
    const { chosenReleases } = await resolveRequirements(['a'], { sources, target });
    expect(
      chosenReleases.map(
        ({ name, version, availableWheel: { source: kind } }) => `${kind} ${name} ${version}`,
      ),
    ).toEqual([expected]);
  });
});
