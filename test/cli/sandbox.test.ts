import { describe, expect, it } from 'vitest';
import { placeWith, SPEC } from './sandbox-place.ts';

describe('heddle sandbox run', () => {
  it('prints the value of a file on stdout, and its output on stderr', async () => {
    const { sandbox } = await placeWith({ 'a.js': 'console.log("working"); return { twice: input.n * 2 };' });
    expect(await sandbox('run', 'a.js', '--input', '{"n": 4}')).toMatchObject({
      exit: 0,
      stdout: '{\n  "twice": 8\n}\n',
      stderr: 'working\n',
    });
  });

  it('prints values and failures as JSON', async () => {
    const { sandbox } = await placeWith({
      'a.js': 'console.log("one"); console.log("two"); return [input];',
      'b.js': 'console.log("before");\nthrow new TypeError("no luck");',
      'c.js': 'for (;;);',
    });
    const good = await sandbox('run', 'a.js', '--json');
    expect({ ...good, stdout: JSON.parse(good.stdout) as unknown }).toMatchObject({
      exit: 0,
      stdout: { ok: true, value: [null], logs: ['one', 'two'], durationMs: expect.any(Number) as number },
      stderr: '',
    });
    const bad = await sandbox('run', 'b.js', '--json');
    expect(bad.exit).toBe(1);
    expect(JSON.parse(bad.stdout)).toEqual({
      ok: false,
      error: { code: 'USER_ERROR', message: 'no luck', line: 2 },
      logs: ['before'],
      durationMs: expect.any(Number) as number,
    });
    const late = await sandbox('run', 'c.js', '--timeout', '100', '--json');
    expect(late.exit).toBe(1);
    expect(JSON.parse(late.stdout)).toMatchObject({ ok: false, error: { code: 'TIMEOUT_CPU' }, logs: [] });
  });

  it('rejects invalid files and options', async () => {
    const { sandbox } = await placeWith({ 'a.rb': '', 'a.js': '' });
    expect(await sandbox('run', 'a.rb')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('.js, .py or .sh') as string,
    });
    expect(await sandbox('run', 'a.js', '--timeout', 'soon')).toMatchObject({ exit: 2 });
    expect(await sandbox('run', 'none.js')).toMatchObject({ exit: 2 });
  });
});

describe('heddle sandbox build', () => {
  it('builds an image that runs find by its spec, its name and its id', async () => {
    const { sandbox } = await placeWith({
      'spec.json': JSON.stringify(SPEC),
      'a.js': 'import { greet } from "greeter";\nreturn greet(input);',
    });
    const built = await sandbox('build', 'spec.json');
    expect(built).toMatchObject({ exit: 0, stderr: expect.stringContaining('resolving') as string });
    expect(built.stdout).toMatch(
      /^✓ greetings {2}javascript, isolate, 1 package, \d+\.\d MiB, built in .*\n {2}[0-9a-f]{64}\n {2}greeter 1\.0\.0\n$/,
    );
    const listed = JSON.parse((await sandbox('list', '--json')).stdout) as { data: { id: string }[] };
    expect(listed.data).toMatchObject([
      { names: ['greetings'], state: 'ready', packages: ['greeter 1.0.0'] },
    ]);
    for (const image of ['spec.json', 'greetings', listed.data[0]!.id]) {
      const { stdout } = await sandbox('run', 'a.js', '--image', image, '--input', '"you"', '--json');
      expect(JSON.parse(stdout)).toMatchObject({ ok: true, value: 'Hello you!' });
    }
    expect((await sandbox('list')).stdout).toMatch(/^id .*\n[0-9a-f]{12} {2}greetings {2}ready/);
  });

  it('reports why a build failed, and exits with 1', async () => {
    const spec = { ...SPEC, dependencies: ['ghost'] };
    const { sandbox } = await placeWith({ 'spec.json': JSON.stringify(spec), 'a.js': 'return 1' });
    const built = await sandbox('build', 'spec.json', '--json');
    expect(built.exit).toBe(1);
    expect(JSON.parse(built.stdout)).toMatchObject({
      data: { state: 'failed', errorCode: 'package_not_found' },
    });
    const ran = await sandbox('run', 'a.js', '--image', 'spec.json', '--json');
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: false, error: { code: 'IMAGE_FAILED' } });
  });

  it('lists all problems of a spec, and exits with 2', async () => {
    const spec = { language: 'javascript', dependencies: ['fine', '--flag', 'https://example.com/x'] };
    const { sandbox } = await placeWith({ 'spec.json': JSON.stringify(spec) });
    const { exit, stderr } = await sandbox('build', 'spec.json');
    expect(exit).toBe(2);
    expect(stderr).toMatch(/dependencies\[1\] "--flag".*\n.*dependencies\[2\] "https:/);
  });
});
