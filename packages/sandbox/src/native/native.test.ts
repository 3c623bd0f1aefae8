import { afterAll, describe, expect, it, vi } from 'vitest';
import { isProcessRunning, setUpNativeImages } from '../../../../test/support/native-images.ts';

const nativeSetup = await setUpNativeImages();
const { python, javascript, numpy, createNativeSandbox, run, runForValue, runForFailure } = nativeSetup;

type JobFields = Parameters<typeof run>[0];

afterAll(() => nativeSetup.close());

const OPTIONS = { timeout: 120_000 };

describe.skipIf(python === undefined)('a script', OPTIONS, () => {
  it.each([
    ['JSON', `echo '__HEDDLE_RESULT__={"a": [1]}'`, { a: [1] }],
    ['text that is not JSON', 'echo __HEDDLE_RESULT__=two words', 'two words'],
    ['the last of several results', 'echo __HEDDLE_RESULT__=1; echo __HEDDLE_RESULT__=2', 2],
    ['null if there is no result', 'echo nothing', null],
  ])('returns %s after the result prefix', async (_description, code, expected) => {
    expect(await runForValue({ code })).toEqual(expected);
  });

  it('has the programs of its image, and output without the result line', async () => {
    const code = `echo first; echo second >&2; echo "__HEDDLE_RESULT__=$(echo '[1,2]' | jq add)"`;
    expect(await run({ code })).toMatchObject({
      ok: true,
      json: '3',
      stdout: expect.stringMatching(/first/) as string,
    });
    expect((await run({ code })).stdout.split('\n').sort()).toEqual(['first', 'second']);
  });

  it('has values as variables: strings unchanged, null as an empty string, everything else as JSON', async () => {
    const values = { a: '"it\'s $(id)"', b: '{"x":[1]}', c: 'null', d: '2.50' };
    const globals = {
      environmentVariables: '{"KEY":"k","LD_PRELOAD":"evil","not a name":"x"}',
      input: '{"n":1}',
    };
    const code = `jq -n -c '[env.a, env.b, env.c, env.d, env.KEY, env.input, env.LD_PRELOAD]' | sed s/^/__HEDDLE_RESULT__=/`;
    expect(await runForValue({ code, values, globals })).toEqual([
      "it's $(id)",
      '{"x":[1]}',
      '',
      '2.50',
      'k',
      '{"n":1}',
      null,
    ]);
  });

  it('fails with its exit code and the last line of its errors', async () => {
    expect(await runForFailure({ code: 'echo one >&2; echo two >&2; exit 3' })).toMatchObject({
      code: 'USER_ERROR',
      name: 'ExitError',
      message: 'The script ended with exit code 3: two',
    });
  });

  it('is refused with values that variables cannot hold', async () => {
    const values = { large: JSON.stringify('x'.repeat(200_000)) };
    expect(await runForFailure({ code: 'true', values })).toMatchObject({ code: 'INPUT_TOO_LARGE' });
  });

  it('leaves no processes behind', async () => {
    const seconds = String(600_000_000 + process.pid);
    expect(await runForValue({ code: `sleep ${seconds} & echo __HEDDLE_RESULT__=1` })).toBe(1);
    await vi.waitFor(() => expect(isProcessRunning(seconds)).toBe(false), { timeout: 30_000 });
  });

  it('needs an image, its own or the default', async () => {
    const sandboxWithoutImage = createNativeSandbox();
    const refusedOutcome = await sandboxWithoutImage.run({ runId: 'r', language: 'shell', code: 'true' });
    expect(refusedOutcome).toMatchObject({ ok: false, error: { code: 'IMAGE_NOT_FOUND' } });
    const sandboxWithDefaultImage = createNativeSandbox({ native: { image: python as string } });
    const acceptedOutcome = await sandboxWithDefaultImage.run({
      runId: 'r',
      language: 'shell',
      code: 'true',
    });
    expect(acceptedOutcome).toMatchObject({ ok: true });
    await Promise.all([sandboxWithoutImage.close(), sandboxWithDefaultImage.close()]);
  });

  it('starts although another tenant uses all slots, because its own tenant runs none, and is measured', async () => {
    const sandbox = createNativeSandbox({ native: { maxProcesses: 1 } });
    const stopController = new AbortController();
    const sleepJob = { code: 'sleep 300', tenant: 'a', signal: stopController.signal };
    const sleepingJobs = [run(sleepJob, sandbox), run(sleepJob, sandbox)];
    expect(
      await runForValue(
        { code: 'head -c 1000000 /dev/zero >/tmp/z; echo __HEDDLE_RESULT__=1', tenant: 'b' },
        sandbox,
      ),
    ).toBe(1);
    await expect
      .poll(() => sandbox.stats().languages.native)
      .toEqual({ processes: 1, queued: 1, running: 1 });
    stopController.abort();
    for (const outcome of await Promise.all(sleepingJobs))
      expect(outcome).toMatchObject({ error: { code: 'CANCELLED' } });
    await expect.poll(() => sandbox.stats().processes).toBe(0);
    await sandbox.close();
    const { queue, wall, peakRssMiB, ended } = sandbox.stats().metrics.native;
    expect([queue.count, wall.count, ended]).toEqual([2, 2, { finished: 1, cancelled: 1 }]);
    expect(wall.maxMs).toBeGreaterThan(0);
    expect(peakRssMiB).toBeGreaterThan(0);
  });

  it('fails with SANDBOX_UNAVAILABLE and the reason at a lower isolation level', async () => {
    const basicSandbox = createNativeSandbox({ isolation: { level: 'basic' } });
    expect(await runForFailure({ code: 'true' }, basicSandbox)).toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
      message: expect.stringContaining('needs the isolation level strict') as string,
    });
    await basicSandbox.close();
  });
});

describe.skipIf(javascript === undefined)('JavaScript in a native image', OPTIONS, () => {
  const jobOf = (code: string): JobFields => ({ language: 'javascript', code });

  it('is the body of a function in Node.js, with imports, require and programs', async () => {
    const code = `import { execFileSync } from 'node:child_process';
      import * as path from 'node:path';
      console.log(path.basename('/a/b'));
      return [execFileSync('jq', ['-n', '6*7']).toString(), require('node:os').homedir(), given, (await import('node:fs')).existsSync('/etc')]`;
    const outcome = await run({ ...jobOf(code), values: { given: '{"a":1}' } });
    expect(outcome).toMatchObject({ ok: true, json: '["42\\n","/work",{"a":1},true]', stdout: 'b' });
  });

  it.each([
    [
      'an error',
      '\nthrow new TypeError("no")',
      { code: 'USER_ERROR', name: 'TypeError', message: 'no', line: 2 },
    ],
    ['code that does not compile', 'const a = 1;\nreturn ]', { code: 'SYNTAX_ERROR', line: 2 }],
    ['an unknown module', 'import x from "nope"; return x', { code: 'MODULE_NOT_IN_IMAGE' }],
    ['an unknown export of a module', 'import { nope } from "node:os"; return nope', { code: 'USER_ERROR' }],
    ['a result that JSON cannot represent', 'return 1n', { code: 'RESULT_NOT_SERIALIZABLE' }],
    ['an exit without a value', 'process.exit(4)', { code: 'USER_ERROR', name: 'ExitError' }],
    [
      'an error in a timer',
      'setTimeout(() => { throw new Error("late") }); await new Promise(() => {})',
      { message: 'late' },
    ],
  ])('fails for %s as in the isolate', async (_description, code, expected) => {
    expect(await runForFailure(jobOf(code))).toMatchObject(expected);
  });
});

describe.skipIf(python === undefined)('Python in a native image', OPTIONS, () => {
  const jobOf = (code: string): JobFields => ({ language: 'python', code });

  it("is a module in CPython, with programs, threads and the isolate's rules for values", async () => {
    const code = `import subprocess, threading, datetime
t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()
jq = subprocess.run(["jq", "-n", "6*7"], capture_output=True, text=True).stdout.strip()
return [jq, given, datetime.date(2026, 1, 2), {3, 1}, b"x"]`;
    const outcome = await run({ ...jobOf(code), values: { given: '[1]' } });
    expect(outcome).toMatchObject({
      ok: true,
      json: '["42",[1],"2026-01-02",[1,3],"eA=="]',
      stdout: 'thread',
    });
  });

  it.each([
    ['import asyncio\nawait asyncio.sleep(0)\nreturn 5', 5],
    ['__block_result__ = [1]', [1]],
    ['x = 1', null],
  ])('returns the value of %j', async (code, expected) => {
    expect(await runForValue(jobOf(code))).toEqual(expected);
  });

  it.each([
    ['x = 1\nreturn 1/0', { code: 'USER_ERROR', name: 'ZeroDivisionError', line: 2 }],
    ['x = (', { code: 'SYNTAX_ERROR', line: 1 }],
    ['import nope', { code: 'MODULE_NOT_IN_IMAGE', line: 1 }],
    ['return object()', { code: 'RESULT_NOT_SERIALIZABLE' }],
    ['import os\nos._exit(7)', { code: 'USER_ERROR', name: 'ExitError' }],
    ['import sys\nsys.exit(2)', { code: 'USER_ERROR', name: 'SystemExit' }],
  ])('fails for %j as in the isolate', async (code, expected) => {
    expect(await runForFailure(jobOf(code))).toMatchObject(expected);
  });

  it.skipIf(numpy === undefined)('has numpy from wheels for Linux', async () => {
    const code = 'import numpy as np\nreturn [np.arange(10).sum(), np.linalg.inv(np.eye(2) * 2)]';
    expect(await runForValue({ ...jobOf(code), image: numpy as string })).toEqual([
      45,
      [
        [0.5, 0],
        [0, 0.5],
      ],
    ]);
  });
});
