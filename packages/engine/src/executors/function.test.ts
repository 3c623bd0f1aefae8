import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { SandboxError, createSandbox, type FunctionJob, type ImageSource } from '@heddle/sandbox';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { blockOf, contextOf, failureOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { functionExecutor, mountedNames } from './function.ts';
import type { CodeSandbox } from './services.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const run = (fixture: BlockFixture): unknown => functionExecutor.execute(contextOf(fixture));

/** Runs in a real sandbox. */
const runInSandbox = (fixture: BlockFixture): unknown => {
  return run({ ...fixture, services: { sandbox: async () => sandbox } });
};

/** Returns a sandbox that only records its jobs. */
const createRecordingSandbox = (jobs: FunctionJob[]): CodeSandbox => ({
  run: async (job) => {
    jobs.push(job);
    return { ok: true, json: 'null', stdout: '', cpuMs: 0, wallMs: 0 };
  },
  evaluate: () => Promise.reject(new Error('no expressions here')),
});

const jobOf = async (fixture: BlockFixture): Promise<FunctionJob> => {
  const jobs: FunctionJob[] = [];
  await run({
    code: 'return 1',
    ...fixture,
    services: { sandbox: async () => createRecordingSandbox(jobs) },
  });
  return jobs[0]!;
};

describe('packages of a function block', () => {
  it('come from the image that sandboxId names', async () => {
    expect(await jobOf({ params: { sandboxId: ' tools ' } })).toMatchObject({ image: 'tools' });
    expect(await jobOf({ params: { sandboxId: '' } })).not.toHaveProperty('image');
    expect(await jobOf({})).not.toHaveProperty('image');
  });

  it('fail the block with the reason if the image is unavailable', async () => {
    const images: ImageSource = {
      open: (id) =>
        Promise.reject(
          new SandboxError('IMAGE_FAILED', `The image "${id}" could not be built (load_failed): no.`),
        ),
    };
    const sandboxWithImages = createSandbox({ maxProcesses: 1, images });
    onTestFinished(() => sandboxWithImages.close());
    const fixture = {
      code: 'return 1',
      params: { sandboxId: 'tools' },
      services: { sandbox: async () => sandboxWithImages },
    };
    expect(await failureOf(() => run(fixture))).toMatchObject({
      code: 'BLOCK_FAILED',
      message: 'The image "tools" could not be built (load_failed): no.',
      details: { reason: 'IMAGE_FAILED' },
    });
    const failure = await failureOf(() => runInSandbox({ code: 'return 1', params: { sandboxId: 'tools' } }));
    expect(failure).toMatchObject({ details: { reason: 'IMAGE_NOT_FOUND' } });
  });
});

describe('a function block', () => {
  it('returns the result and console output of the code, with references bound to values (r276, r373)', async () => {
    const code =
      'console.log("a", {b: [2]}); console.warn("w"); return [<p.result.o>, <p.result.s>, "{{K}}"]';
    const outputs = { P: { result: { o: { q: 1 }, s: 'it\'s "q"\n' }, stdout: '' } };
    expect(await runInSandbox({ code, outputs, env: { K: 'a"b' } })).toEqual({
      output: { result: [{ q: 1 }, 'it\'s "q"\n', 'a"b'], stdout: 'a {"b":[2]}\nWARN: w' },
    });
  });

  it('returns null if the code returns nothing (r363)', async () => {
    expect(await runInSandbox({ code: 'const a = 1' })).toEqual({ output: { result: null, stdout: '' } });
  });

  it('has the globals params, environmentVariables and input, the output of the source block (r377, r400)', async () => {
    const code =
      'return [params, environmentVariables["K"], Object.keys(environmentVariables), input.attendees]';
    const result = await runInSandbox({ code, env: { K: 'v' }, outputs: { Start: { attendees: 'a,b' } } });
    expect(result).toMatchObject({ output: { result: [{}, 'v', ['K'], 'a,b'] } });
  });

  it.each<[string, string, string]>([
    ['an error', 'const a = 1;\nthrow new Error("three");', 'Line 2: `throw new Error("three");` - three'],
    [
      'an error of a built-in type',
      'const a = null;\nreturn a.b',
      "TypeError: Line 2: `return a.b` - Cannot read properties of null (reading 'b')",
    ],
    ['an unknown name', 'return nope', 'ReferenceError: Line 1: `return nope` - nope is not defined'],
    [
      'an error with a custom name',
      'const e = new Error("c"); e.name = "Custom"; throw e',
      'Custom: Line 1: `const e = new Error("c"); e.name = "Custom"; throw e` - c',
    ],
    ['a thrown string', 'throw "plain"', 'Line 1: `throw "plain"` - plain'],
    ['a thrown string in an unknown line', 'const a = 1;\nthrow "plain"', 'plain'],
  ])('reports type, authored line and message of %s (r155–r165)', async (_description, code, message) => {
    expect(await failureOf(() => runInSandbox({ code }))).toMatchObject({
      code: 'BLOCK_FAILED',
      message,
      retryable: true,
    });
  });

  it('quotes the authored line, never values (F22)', async () => {
    const failure = await failureOf(() =>
      runInSandbox({ code: 'throw new Error("second: " + <a.error>)', outputs: { A: { error: 'first' } } }),
    );
    expect(failure.message).toBe('Line 1: `throw new Error("second: " + <a.error>)` - second: first');
  });

  it('names the line of a syntax error', async () => {
    const failure = await failureOf(() => runInSandbox({ code: 'const a = 1;\nreturn (a' }));
    expect(failure.message).toMatch(/^SyntaxError: Line \d+: `/);
  });

  it('reports a result that cannot be JSON (r367)', async () => {
    expect((await failureOf(() => runInSandbox({ code: 'return 10n' }))).message).toContain('BigInt');
  });

  it('includes the console output of failed code in the details', async () => {
    expect(
      await failureOf(() => runInSandbox({ code: 'console.log("seen"); throw new Error("x")' })),
    ).toMatchObject({
      details: { stdout: expect.stringContaining('seen') as string, line: 1, name: 'Error' },
    });
  });

  it.each(['import x from "y"', 'const x = require("y")', 'return await import("y")'])(
    'explains where packages come from: %s',
    async (code) => {
      const failure = await failureOf(() => runInSandbox({ code }));
      expect(failure).toMatchObject({ code: 'LANGUAGE_UNSUPPORTED', retryable: false });
      expect(failure.message).toContain('the sandbox that its block names');
    },
  );

  it('stops at its timeout (F6)', async () => {
    expect(
      await failureOf(() => runInSandbox({ code: 'await new Promise(() => {})', params: { timeout: 50 } })),
    ).toMatchObject({ code: 'BLOCK_TIMEOUT' });
  });

  it.each([{ params: {} }, { code: '' }, { code: ' \n ' }])('fails without code (r061)', async (fixture) => {
    expect(await failureOf(() => run(fixture))).toMatchObject({
      code: 'BLOCK_CONFIG_INVALID',
      message: expect.stringContaining('no code') as string,
    });
  });

  it('explains that a shell script needs an image', async () => {
    expect(await failureOf(() => runInSandbox({ code: 'echo 1', language: 'shell' }))).toMatchObject({
      code: 'BLOCK_FAILED',
      message: expect.stringContaining('A shell script needs an image') as string,
    });
  });

  it('uses its own timeout, limited to the remaining time, five minutes by default (F4, F5)', async () => {
    expect((await jobOf({})).limits).toEqual({ wallMs: 300_000 });
    expect((await jobOf({ params: { timeout: '1000' } })).limits).toEqual({ wallMs: 1000, cpuMs: 1000 });
    expect((await jobOf({ params: { timeout: 1000 }, deadlineMs: 400 })).limits).toEqual({
      wallMs: 1000,
      cpuMs: 1000,
    });
    expect((await jobOf({ params: { timeout: 9000 }, deadlineMs: 400 })).limits).toEqual({
      wallMs: 1400,
      cpuMs: 1400,
    });
    expect((await jobOf({ deadlineMs: 700 })).limits).toEqual({ wallMs: 1700 });
  });

  it('cannot exceed the code limits of the engine', async () => {
    const runInfo = {
      variables: [],
      env: {},
      depth: 0,
      callChain: [],
      codeLimits: { wallMs: 2000, cpuMs: 500 },
    };
    const limitsOf = async (params: JsonObject): Promise<unknown> => {
      const jobs: FunctionJob[] = [];
      const context = contextOf({ code: 'return 1', params });
      const services = {
        ...context.services,
        run: runInfo,
        sandbox: async () => createRecordingSandbox(jobs),
      };
      await functionExecutor.execute(Object.defineProperty(context, 'services', { value: services }));
      return jobs[0]?.limits;
    };
    expect(await limitsOf({ timeout: 3_600_000 })).toEqual({ wallMs: 2000, cpuMs: 500 });
    expect(await limitsOf({ timeout: 100 })).toEqual({ wallMs: 100, cpuMs: 100 });
    expect(await limitsOf({})).toEqual({ wallMs: 2000 });
  });

  it('passes only values that the code mentions to the sandbox', async () => {
    expect((await jobOf({ env: { K: 'secret' }, outputs: { A: { big: 1 } } })).globals).toEqual({
      params: '{}',
    });
  });

  it('determines the mounted values before the run from a list or JSON text, or mounts all values if a reference selects them', () => {
    const mountedNamesFor = (mountedSecrets: Json, secretScope = 'selected'): ReadonlySet<string> | 'all' =>
      mountedNames(blockOf({ code: 'return environmentVariables', params: { secretScope, mountedSecrets } }));
    expect(mountedNamesFor(['A'])).toEqual(new Set(['A']));
    expect(mountedNamesFor('["A", {"name": "B"}]')).toEqual(new Set(['A', 'B']));
    expect(mountedNamesFor('["{{A}}"]')).toBe('all');
    expect(mountedNamesFor(['A'], 'all')).toBe('all');
  });

  it('mounts the environment values that the block selects, and fails for an unknown scope (F7, F8)', async () => {
    const code = 'return environmentVariables';
    const env = { A: '1', B: '2' };
    const job = await jobOf({ code, env, params: { secretScope: 'selected', mountedSecrets: ['A'] } });
    expect(job.globals?.['environmentVariables']).toBe('{"A":"1"}');
    const params = { secretScope: 'selected', mountedSecrets: '["<q.v>"]' };
    const hostileJob = await jobOf({ code, env, params, outputs: { Q: { v: 'A","B' } } });
    expect(hostileJob.globals?.['environmentVariables']).toBe('{}');
    expect(await failureOf(() => jobOf({ code, env, params: { secretScope: 'some' } }))).toMatchObject({
      code: 'BLOCK_CONFIG_INVALID',
    });
    expect(
      await failureOf(() =>
        jobOf({ code, env, params: { secretScope: 'selected', mountedSecrets: '{bad' } }),
      ),
    ).toMatchObject({ code: 'BLOCK_CONFIG_INVALID' });
  });
});

describe('a function block in Python', () => {
  const runPython = (fixture: BlockFixture): unknown => runInSandbox({ language: 'python', ...fixture });

  it('returns the result and console output of the code, with references bound to values', async () => {
    const code = `
import sys
print("a", {"b": [2]})
print("w", file=sys.stderr)
own = <p.result.o>
own["q"] = 2
return [own, <p.result.o>, <p.result.s>, "{{K}}", <variable.n>, <p.none>]`;
    const outputs = { P: { result: { o: { q: 1 }, s: 'it\'s "q"\n' }, none: null, stdout: '' } };
    const variables = [{ id: 'n', name: 'n', type: 'number', value: 5 }] as const;
    expect(await runPython({ code, outputs, env: { K: 'a"b' }, variables: [...variables] })).toEqual({
      output: {
        result: [{ q: 2 }, { q: 1 }, 'it\'s "q"\n', 'a"b', 5, null],
        stdout: "a {'b': [2]}\nw",
      },
    });
  });

  it.each([
    ['"<p.x>"', '"it\'s"'],
    ["'a <p.x> b'", 'a "it\'s" b'],
    ['"""\n<p.x>\n"""', '\n"it\'s"\n'],
    ["r'\\d<p.x>'", '\\d"it\'s"'],
    ['"\\"<p.x>"', '""it\'s"'],
    ['f"{1 + 1} <p.x> {<p.n>:>3}"', '2 "it\'s"   7'],
    ['"<p.o>"', '{"a":[1,true,null]}'],
    ['<p.o>["a"]', [1, true, null]],
    ['"plain" # <p.x>', 'plain'],
    ['"<p.x>" "{{K}}"', '"it\'s"v'],
    ['{"{{K}}": 1}', { v: 1 }],
    ['"{{K}}".upper()', 'V'],
  ])(
    'inserts references into string literals according to their quotes: %s',
    async (expression, expected) => {
      const outputs = { P: { x: "it's", n: 7, o: { a: [1, true, null] } } };
      const result = await runPython({ code: `return ${expression}`, outputs, env: { K: 'v' } });
      expect(result).toMatchObject({ output: { result: expected } });
    },
  );

  it('returns null without a return statement, or the value of the result variable', async () => {
    expect(await runPython({ code: 'x = 1' })).toEqual({ output: { result: null, stdout: '' } });
    expect(await runPython({ code: '__own_result__ = [1]' })).toMatchObject({ output: { result: [1] } });
  });

  it('has params, environmentVariables and input, and imports json and os', async () => {
    const code = 'return [params, environmentVariables["K"], input["a"], json.dumps([1]), os.sep]';
    expect(await runPython({ code, env: { K: 'v' }, outputs: { Start: { a: 'b' } } })).toMatchObject({
      output: { result: [{}, 'v', 'b', '[1]', '/'] },
    });
  });

  it.each([
    ['x = 1\nraise ValueError("two")', 'ValueError: Line 2: `raise ValueError("two")` - two'],
    [
      'return <p.x> + 1',
      'TypeError: Line 1: `return <p.x> + 1` - can only concatenate str (not "int") to str',
    ],
    ['x = 1\nreturn (x', "SyntaxError: Line 2: `return (x` - '(' was never closed"],
    ['return nope', "NameError: Line 1: `return nope` - name 'nope' is not defined"],
  ])('reports type, authored line and message: %j', async (code, message) => {
    expect(await failureOf(() => runPython({ code, outputs: { P: { x: "it's" } } }))).toMatchObject({
      code: 'BLOCK_FAILED',
      message,
      retryable: true,
    });
  });

  it('reports a result that cannot be JSON', async () => {
    expect(await failureOf(() => runPython({ code: 'return float("nan")' }))).toMatchObject({
      code: 'BLOCK_FAILED',
      details: { reason: 'RESULT_NOT_SERIALIZABLE' },
    });
  });

  it('explains where packages come from', async () => {
    const failure = await failureOf(() => runPython({ code: 'x = 1\nimport numpy' }));
    expect(failure).toMatchObject({ code: 'LANGUAGE_UNSUPPORTED', retryable: false });
    expect(failure.message).toContain("Line 2: `import numpy` - No module named 'numpy'");
  });

  it('stops at its timeout', async () => {
    expect(
      await failureOf(() => runPython({ code: 'while True: pass', params: { timeout: 200 } })),
    ).toMatchObject({ code: 'BLOCK_TIMEOUT' });
  });
});
