import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sample } from '../support/scale.ts';
import { createSandboxFolder, SPEC } from './sandbox-folder.ts';

const isLinux = process.platform === 'linux';

describe('heddle sandbox run without --json', () => {
  it('shows the failing line with its neighbours', async () => {
    const { runSandbox } = await createSandboxFolder({
      'a.js': 'const row = null;\nconst { id } = row;\nreturn id;',
    });
    const { exitCode, stdout, stderr } = await runSandbox('run', 'a.js');
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^✗ USER_ERROR TypeError: .* \(line 2\)\n\n {4}1 │ const row = null;\n {2}▸ 2 │ const \{ id \}/,
    );
  });

  const HINT_CASES: readonly (readonly [description: string, args: readonly string[], hint: RegExp])[] = [
    [
      'a missing module',
      ['a.js'],
      /MODULE_NOT_IN_IMAGE[^→]*→ .*--image SPEC\.json, with a specification like \{"language": "javascript"/,
    ],
    ['an unknown image', ['b.js', '--image', 'none'], /IMAGE_NOT_FOUND[^→]*→ .*heddle sandbox list/],
    [
      'a missing spec file',
      ['b.js', '--image', 'none.json'],
      /There is no file none\.json\.\n→ --image takes/,
    ],
    ['too little time', ['c.js', '--timeout', '50'], /TIMEOUT_CPU[^→]*→ .*--timeout MS/],
    ['no time', ['b.js', '--timeout', '0'], /"0" is not a valid --timeout\.\n→ Use whole milliseconds/],
    ['an invalid time', ['b.js', '--timeout', ''], /"" is not a valid --timeout\./],
  ];

  it.each(sample(HINT_CASES, 2, 'hints of heddle sandbox run'))(
    'gives a hint about %s',
    async (_, args, hint) => {
      const { runSandbox } = await createSandboxFolder({
        'a.js': 'import { greet } from "greeter";',
        'b.js': 'return 1',
        'c.js': 'for (;;);',
      });
      const { stdout, stderr } = await runSandbox('run', ...args);
      expect(stdout).toBe('');
      expect(stderr).toMatch(hint);
    },
  );

  it('leaves no files, and needs no image folder for code without an image', async () => {
    const { cwd, runSandbox } = await createSandboxFolder({ 'a.js': 'return 1' });
    expect(await runSandbox('run', 'a.js', '--images', 'a.js/images')).toMatchObject({
      exitCode: 0,
      stderr: '',
    });
    expect(await runSandbox('list')).toMatchObject({
      exitCode: 0,
      stdout: 'No images in ./.heddle/images.\n',
    });
    expect(existsSync(join(cwd, '.heddle'))).toBe(false);
  });

  it('does not mistake a folder for an image, and refuses code in a language that the image does not support', async () => {
    const { cwd, runSandbox } = await createSandboxFolder({
      'spec.json': JSON.stringify(SPEC),
      'a.js': 'import { greet } from "greeter";\nreturn greet(input);',
      'a.py': 'return 1',
      'a.sh': 'echo 1',
    });
    mkdirSync(join(cwd, 'greetings'));
    await runSandbox('build', 'spec.json');
    const runResult = await runSandbox('run', 'a.js', '--image', 'greetings', '-i', '"you"');
    expect(runResult).toMatchObject({ exitCode: 0, stdout: '"Hello you!"\n' });
    expect((await runSandbox('run', 'a.py', '--image', 'greetings')).stderr).toContain(
      'IMAGE_FAILED The image "greetings" has packages for javascript, and this code is python.',
    );
    expect((await runSandbox('run', 'a.sh', '--image', 'greetings')).stderr).toContain(
      'The image "greetings" has packages for the isolate, which cannot run shell scripts',
    );
  });

  it.runIf(isLinux)('runs nothing below the required isolation', async () => {
    const { runSandbox } = await createSandboxFolder({
      'a.js': 'return 1',
      'spec.json': JSON.stringify(SPEC),
    });
    const strictArgs = ['--isolation', 'strict', '--bubblewrap', '/nowhere/bwrap'];
    const result = await runSandbox('run', 'a.js', ...strictArgs);
    expect([result.exitCode, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toMatch(/SANDBOX_UNAVAILABLE .*strict is the minimum.*\n→ .*heddle sandbox doctor/);
    const buildResult = await runSandbox('build', 'spec.json', ...strictArgs);
    expect(buildResult.exitCode).toBe(1);
    expect(buildResult.stdout).toMatch(/^✗ greetings {2}failed: provider_error\n.*strict is the minimum/);
  });
});

describe('heddle sandbox run --json', () => {
  const INVALID_CALLS: readonly (readonly [description: string, args: readonly string[], message: string])[] =
    [
      ['a missing file', ['none.js'], 'There is no file none.js.'],
      ['a file of another kind', ['a.rb'], 'a.rb is not a JavaScript, Python or shell file.'],
      ['an invalid time', ['a.js', '--timeout', 'soon'], '"soon" is not a valid --timeout.'],
      ['an input that is not JSON', ['a.js', '--input', 'soon'], 'The value of --input is not JSON'],
      [
        'an invalid spec',
        ['a.js', '--image', 'spec.json'],
        'The file spec.json is not a valid image specification.',
      ],
      ['an unusable folder', ['a.js', '--image', 'x', '--images', 'a.js/x'], 'Cannot store images in a.js/x'],
    ];

  it.each(sample(INVALID_CALLS, 2, 'refusals of heddle sandbox run'))(
    'prints one JSON document about %s, and exits with 1',
    async (_, args, message) => {
      const { runSandbox } = await createSandboxFolder({
        'a.js': 'return 1',
        'a.rb': '',
        'spec.json': '{"language": "python"}',
      });
      const { exitCode, stdout, stderr } = await runSandbox('run', ...args, '--json');
      expect([exitCode, stderr]).toEqual([1, '']);
      expect(JSON.parse(stdout)).toEqual({
        ok: false,
        error: { code: 'USAGE', message: expect.stringContaining(message) as string },
        logs: [],
        durationMs: 0,
      });
    },
  );
});

describe('heddle sandbox build', () => {
  const INVALID_SPECS: readonly (readonly [description: string, spec: unknown, message: string])[] = [
    [
      'an unknown field',
      { ...SPEC, dependancies: [] },
      'dependancies: unknown field; the fields are name, language,',
    ],
    ['an invalid name', { ...SPEC, name: 5 }, 'name: must be a string'],
    ['a list instead of a spec', [SPEC], 'it is not a JSON object'],
    [
      'a tool without its version',
      { language: 'python', cliTools: ['kubectl'] },
      'cliTools[0] "kubectl": it is not in the catalogue of command-line tools; the id is kubectl@',
    ],
    [
      'a wrong requirement, with an example for the language',
      { language: 'python', dependencies: ['a=1'] },
      'Example of a specification: {"language": "python"',
    ],
  ];

  it.each(sample(INVALID_SPECS, 2, 'invalid specs of heddle sandbox build'))(
    'rejects %s',
    async (_, spec, message) => {
      const { runSandbox } = await createSandboxFolder({ 'spec.json': JSON.stringify(spec) });
      const { exitCode, stdout, stderr } = await runSandbox('build', 'spec.json');
      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toContain(message);
    },
  );

  it('reports whether the image already existed', async () => {
    const { runSandbox } = await createSandboxFolder({ 'spec.json': JSON.stringify(SPEC) });
    expect((await runSandbox('build', 'spec.json')).stdout).toMatch(/, built in \d/);
    expect(await runSandbox('build', 'spec.json')).toMatchObject({
      stdout: expect.stringMatching(/, already built\n/) as string,
      stderr: '',
    });
  });

  it('lists a failed build with its contents and the reason', async () => {
    const { runSandbox } = await createSandboxFolder({
      'spec.json': JSON.stringify({ ...SPEC, dependencies: ['ghost'] }),
    });
    await runSandbox('build', 'spec.json');
    expect((await runSandbox('list')).stdout).toMatch(
      /\n[0-9a-f]{12} {2}greetings {2}failed +javascript +- +ghost\n {14}package_not_found: .*ghost/,
    );
  });
});

describe('Ctrl-C', () => {
  it('cancels a build without leftovers, and the build can start again immediately', async () => {
    const { cwd, registry, runSandbox, startSandbox } = await createSandboxFolder({
      'spec.json': JSON.stringify(SPEC),
    });
    const { intercept: originalIntercept } = registry;
    const firstRequest = new Promise<void>((resolve) => {
      registry.intercept = () => {
        resolve();
        return true;
      };
    });
    const buildCommand = startSandbox('build', 'spec.json');
    await firstRequest;
    buildCommand.child.kill('SIGINT');
    const { exitCode, stdout, stderr } = await buildCommand.result;
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'resolving …\n○ Cancelled. No image was built.\n',
    });
    expect((await runSandbox('list')).stdout).toMatch(/greetings {2}pending/);
    expect(readdirSync(join(cwd, '.heddle/images/work'))).toEqual([]);
    registry.intercept = originalIntercept;
    expect((await runSandbox('build', 'spec.json')).exitCode).toBe(0);
  });

  it('cancels a run during the build of its image, and with --json still prints the outcome', async () => {
    const { registry, startSandbox } = await createSandboxFolder({
      'spec.json': JSON.stringify(SPEC),
      'b.js': 'return 1',
    });
    const firstRequest = new Promise<void>((resolve) => {
      registry.intercept = () => {
        resolve();
        return true;
      };
    });
    const runCommand = startSandbox('run', 'b.js', '--image', 'spec.json', '--json');
    await firstRequest;
    runCommand.child.kill('SIGINT');
    const result = await runCommand.result;
    expect(result).toMatchObject({ exitCode: 1, stderr: '' });
    expect(JSON.parse(result.stdout)).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
  });
});
