import { describe, expect, it } from 'vitest';
import { buildPythonImage } from '../../../../test/support/python/image.ts';
import { type IndexedWheel, openTestPythonIndex } from '../../../../test/support/python/python-index.ts';

const WHEELS: readonly IndexedWheel[] = [
  {
    name: 'Alpha.Pkg',
    version: '1.2',
    requires: ['beta>=1; extra == "more"', 'never; sys_platform == "win32"'],
    files: {
      'alpha_pkg/__init__.py':
        'from pathlib import Path\nfrom importlib.metadata import version\nVERSION = version("alpha.pkg")\nTEXT = Path(__file__).with_name("data.txt").read_text()\ndef fail():\n    raise KeyError("from alpha")\n',
      'alpha_pkg/data.txt': 'grüezi',
      'alpha_pkg/template.py': 'this is {{ no }} python',
      'alpha_pkg/chance.py': 'import random\nSECRET = random.Random().random()\n',
      'alpha_pkg/generator.py': 'import random\nGENERATOR = random.Random()\n',
      'evil.pth': 'import os; os.environ["EVIL"] = "pth"\n',
      'sitecustomize.py': 'import os; os.environ["EVIL"] = "sitecustomize"\n',
    },
  },
  {
    name: 'beta',
    version: '1.0',
    files: { 'beta.py': 'import alpha_pkg.chance, alpha_pkg.generator\nSTATE = []\n', '_beta_hidden.py': '' },
  },
];

describe('an image of Python packages', { timeout: 120_000 }, () => {
  it('has the requested packages in every run, but no state or random values of earlier runs', async () => {
    const { url } = await openTestPythonIndex(WHEELS);
    const { record, images, run } = await buildPythonImage(['alpha.pkg[more]==1.*'], { index: url });
    expect(record).toMatchObject({
      state: 'ready',
      runtime: 'isolate',
      packages: ['alpha-pkg 1.2', 'beta 1.0'],
      warnings: [
        'alpha-pkg: evil.pth, sitecustomize.py would run when Python starts, so they are not installed.',
      ],
    });
    const { blobs, features } = await images.open(record.imageId ?? '');
    expect(Object.keys(blobs).sort()).toEqual(['memory.snap', 'site.zip']);
    expect(features).toEqual({ snapshot: true, modules: ['alpha_pkg'] });

    const readPackages = `
import os, sys, alpha_pkg, beta
beta.STATE.append(1)
return [alpha_pkg.TEXT, alpha_pkg.VERSION, beta.STATE, os.environ.get("EVIL"), alpha_pkg.__file__, "sitecustomize" in sys.modules]`;
    const expected = ['grüezi', '1.2', [1], null, '/opt/site/alpha_pkg/__init__.pyc', false];
    for (const outcome of [await run(readPackages), await run(readPackages)]) {
      expect(outcome).toMatchObject({ ok: true });
      expect(JSON.parse(outcome.ok ? outcome.json : '')).toEqual(expected);
    }

    for (const expression of ['alpha_pkg.chance.SECRET', 'alpha_pkg.generator.GENERATOR.random()']) {
      const code = `import alpha_pkg.chance, alpha_pkg.generator\nreturn ${expression}`;
      const results = [await run(code), await run(code)].map((outcome) =>
        outcome.ok ? outcome.json : 'failed',
      );
      expect(new Set([...results, 'failed']).size).toBe(3);
    }
  });

  it('reports errors of packages at the line of the calling code', async () => {
    const { url } = await openTestPythonIndex(WHEELS);
    const { run } = await buildPythonImage(['alpha-pkg'], { index: url });
    const failedOutcome = await run('import alpha_pkg\n\nalpha_pkg.fail()');
    expect(failedOutcome).toMatchObject({
      ok: false,
      error: { code: 'USER_ERROR', name: 'KeyError', line: 3 },
    });
    const missingModuleOutcome = await run('x = 1\nimport numpy');
    expect(missingModuleOutcome).toMatchObject({
      ok: false,
      error: {
        code: 'MODULE_NOT_IN_IMAGE',
        message: expect.stringContaining("No module named 'numpy'") as string,
        line: 2,
      },
    });
    const syntaxErrorOutcome = await run('import alpha_pkg.template');
    expect(syntaxErrorOutcome).toMatchObject({
      ok: false,
      error: { code: 'USER_ERROR', name: 'SyntaxError' },
    });
  });
});
