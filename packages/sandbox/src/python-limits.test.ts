import { afterAll, describe, expect, it } from 'vitest';
import { valueIn } from '../../../test/support/outcome.ts';
import { sample } from '../../../test/support/scale.ts';
import { createSandbox, type FunctionJob, type FunctionOutcome, type Sandbox } from './index.ts';

const sandboxes: Sandbox[] = [];
afterAll(() => Promise.all(sandboxes.map((sandbox) => sandbox.close())));

function createTestSandbox(options: Parameters<typeof createSandbox>[0] = {}): Sandbox {
  const sandbox = createSandbox({ python: { maxProcesses: 1 }, ...options });
  sandboxes.push(sandbox);
  return sandbox;
}

const sharedSandbox = createTestSandbox();
const run = (
  code: string,
  fields: Partial<FunctionJob> = {},
  sandbox = sharedSandbox,
): Promise<FunctionOutcome> => sandbox.run({ runId: 'limits', language: 'python', code, ...fields });

const valueOf = async (
  code: string,
  fields: Partial<FunctionJob> = {},
  sandbox = sharedSandbox,
): Promise<unknown> => valueIn(await run(code, fields, sandbox));

/** Endless code, with a description of each. */
type EndlessCodeList = readonly (readonly [description: string, code: string])[];

describe('limits of Python', () => {
  const BUSY_CODE: EndlessCodeList = [
    ['a loop', 'while True: pass'],
    [
      'a loop that catches everything',
      'while True:\n  try:\n    while True: pass\n  except BaseException: pass',
    ],
    ['a loop inside the interpreter', 'import itertools\nsum(itertools.repeat(1))'],
    ['a pattern that backtracks endlessly', 'import re\nre.match("(a+)+$", "a" * 40 + "b")'],
    [
      'a value whose conversion does not end',
      'class A:\n  def model_dump(self):\n    while True: pass\nreturn A()',
    ],
    ['iterations of the event loop', 'import asyncio\nwhile True: await asyncio.sleep(0)'],
    ['big numbers', 'x = 7 ** 10_000_000\nreturn len(str(x))'],
  ];

  it.each(sample(BUSY_CODE, 2, 'ways to use the processor in Python'))(
    'end %s with TIMEOUT_CPU',
    async (_description, code) => {
      expect(await run(code, { limits: { cpuMs: 300 } })).toMatchObject({
        ok: false,
        error: { code: 'TIMEOUT_CPU', retryable: false },
      });
      expect(await valueOf('return 1')).toBe(1);
    },
  );

  const IDLE_CODE: EndlessCodeList = [
    ['sleeping', 'import time\ntime.sleep(60)'],
    [
      'sleeping in an endless loop',
      'import time\nwhile True:\n  try: time.sleep(0.01)\n  except BaseException: pass',
    ],
    ['awaiting', 'import asyncio\nawait asyncio.sleep(60)'],
    ['awaiting a future without a result', 'import asyncio\nawait asyncio.Future()'],
  ];

  it.each(sample(IDLE_CODE, 1, 'ways to wait in Python'))(
    'end %s with TIMEOUT_WALL',
    async (_description, code) => {
      expect(await run(code, { limits: { wallMs: 200 } })).toMatchObject({
        ok: false,
        error: { code: 'TIMEOUT_WALL' },
      });
      expect(await valueOf('return 1')).toBe(1);
    },
  );

  it('do not count sleep as CPU time', async () => {
    const outcome = await run('import time\ntime.sleep(0.3)\nreturn 1', { limits: { cpuMs: 250 } });
    expect(outcome).toMatchObject({ ok: true });
    expect(outcome.wallMs).toBeGreaterThanOrEqual(300);
  });

  it('cover in-memory files', async () => {
    const code = 'with open("/tmp/f", "wb") as f:\n  while True: f.write(bytes(10_000_000))';
    const outcome = await run(code);
    if (outcome.ok) throw new Error('The files had no limit.');
    expect([outcome.error.code, outcome.error.name]).toSatisfy(
      ([errorCode, name]) =>
        errorCode === 'OUT_OF_MEMORY' || ['MemoryError', 'OSError', 'RangeError'].includes(name as string),
    );
    expect(await valueOf('return 1')).toBe(1);
  });

  it('cover results, inputs and calls', async () => {
    expect(await run('return "x" * 100', { limits: { resultChars: 50 } })).toMatchObject({
      error: { code: 'RESULT_TOO_LARGE' },
    });
    expect(await run('return 1', { values: { v: '"xxxxx"' }, limits: { inputChars: 3 } })).toMatchObject({
      error: { code: 'INPUT_TOO_LARGE' },
    });
    expect(
      await run(
        'import requests\nwhile True:\n  try: requests.get("http://10.0.0.1/")\n  except Exception: pass',
        {
          limits: { hostCalls: 2 },
        },
      ),
    ).toMatchObject({ error: { code: 'BRIDGE_LIMIT' } });
  });

  it.each([
    ['abort', 'import ctypes\nctypes.pythonapi.abort()'],
    ['an invalid memory access', 'import ctypes\nctypes.string_at(0x7fffffff, 10)'],
    ['exit', 'import os\nos._exit(0)'],
  ])('cover a crash of the interpreter (%s): the next job gets a new one', async (_description, code) => {
    expect(await run(code)).toMatchObject({ ok: false });
    expect(await valueOf('return 1')).toBe(1);
  });
});

describe('a job that is cancelled', () => {
  const CANCELLED_CODE: EndlessCodeList = [
    ['in a loop', 'while True: pass'],
    ['while it sleeps', 'import time\ntime.sleep(60)'],
    ['while it awaits', 'import asyncio\nawait asyncio.sleep(60)'],
  ];

  it.each(sample(CANCELLED_CODE, 1, 'states in which Python is cancelled'))(
    'ends immediately %s',
    async (_description, code) => {
      const sandbox = createTestSandbox();
      await valueOf('return 1', {}, sandbox);
      const controller = new AbortController();
      const outcome = run(code, { signal: controller.signal }, sandbox);
      setTimeout(() => controller.abort(), 50);
      expect(await outcome).toMatchObject({ ok: false, error: { code: 'CANCELLED' } });
      expect(await valueOf('return 1', {}, sandbox)).toBe(1);
    },
  );
});

const READ_RANDOM_VALUES_CODE = `
import random, secrets, uuid, tempfile
return [random.random(), secrets.token_hex(8), str(uuid.uuid4()), os.urandom(4).hex(), random.SystemRandom().random()]`;

describe('interpreters', () => {
  it('start from one snapshot with their own random state', async () => {
    const sandbox = createTestSandbox({ share: 'none' });
    const results = [
      await valueOf(READ_RANDOM_VALUES_CODE, {}, sandbox),
      await valueOf(READ_RANDOM_VALUES_CODE, {}, sandbox),
    ] as string[][];
    for (const [index, value] of results[0]!.entries()) expect(results[1]![index]).not.toBe(value);
  });

  it('provide any number of random values, all different', async () => {
    const code = 'import uuid\nreturn len({uuid.uuid4().hex for _ in range(20000)})';
    expect(await valueOf(code)).toBe(20_000);
  });

  it('belong to one run: the state of a block is not visible to another run', async () => {
    const leaveStateCode =
      'import sys, json\njson.left = 1\nsys.left = 1\nopen("/tmp/left", "w").write("x")\nreturn 1';
    const readStateCode =
      'import sys, json\nreturn [hasattr(json, "left"), hasattr(sys, "left"), os.path.exists("/tmp/left")]';
    await valueOf(leaveStateCode, { runId: 'one' });
    expect(await valueOf(readStateCode, { runId: 'two' })).toEqual([false, false, false]);
  });

  it('give blocks of a run fresh names, files, streams, environment and built-ins', async () => {
    await valueOf(
      `import sys, builtins, logging
left = 1
builtins.len = lambda x: 7
os.environ["LEFT"] = "1"
os.chdir("/")
open("/home/user/left", "w").write("x")
os.makedirs("/tmp/a/b")
sys.stdout = None
logging.basicConfig(level=logging.DEBUG)
sys.path.insert(0, "/nowhere")
return 1`,
      { runId: 'three' },
    );
    expect(
      await valueOf(
        `import sys, logging
return ["left" in globals(), len([]), os.environ.get("LEFT"), os.getcwd(), os.listdir(), os.listdir("/tmp"),
        sys.stdout is None, logging.root.level, sys.path[0], sys.modules["__main__"].__dict__ is globals()]`,
        { runId: 'three' },
      ),
    ).toEqual([
      false,
      0,
      null,
      '/home/user',
      [],
      [],
      false,
      30,
      expect.not.stringContaining('nowhere'),
      true,
    ]);
  });

  it('are not reused if a block left tasks running', async () => {
    const leaveTaskCode = `
import asyncio
async def later():
    await asyncio.sleep(0.01)
    print("from an earlier block")
asyncio.ensure_future(later())
return 1`;
    expect(await valueOf(leaveTaskCode, { runId: 'four' })).toBe(1);
    const laterOutcome = await run('import asyncio\nawait asyncio.sleep(0.05)\nreturn 2', { runId: 'four' });
    expect(laterOutcome).toMatchObject({ ok: true, json: '2', stdout: '' });
  });

  it('have no access to the host: no Node.js, files, environment or processes', async () => {
    const code = `
import js, subprocess
def fails(action):
    try: action(); return False
    except BaseException: return True
return [hasattr(js, "process"), hasattr(js, "require"), hasattr(js, "read"), os.path.exists("/etc/passwd"),
        os.system("id") == 0, fails(lambda: subprocess.run(["id"])), fails(os.fork), "PATH" in os.environ,
        str(js.eval("typeof process + typeof require + typeof SharedArrayBuffer"))]`;
    const [process, require, read, passwd, system, run_, fork, path, types] = (await valueOf(
      code,
    )) as unknown[];
    expect([process, require, read, passwd, system, run_, fork]).toEqual([
      ...[false, false, false, false, false, true, true],
    ]);
    expect(path).toBeTypeOf('boolean');
    expect(types).toBe('undefinedundefinedundefined');
  });
});

describe('the Python pool', () => {
  it('has a process ready after warm()', async () => {
    const sandbox = createTestSandbox();
    await sandbox.warm({ language: 'python' });
    await expect.poll(() => sandbox.stats().languages.python.processes).toBe(1);
    expect(sandbox.stats().languages.javascript.processes).toBe(0);
    expect(await valueOf('return 1', {}, sandbox)).toBe(1);
    expect(sandbox.stats().languages.python.processes).toBe(1);
  });

  it('serves tenants in their own processes, in turn', async () => {
    const sandbox = createTestSandbox();
    const order: string[] = [];
    const runJob = (tenant: string, runId: string): Promise<void> =>
      run('return 1', { tenant, runId }, sandbox).then((outcome) => {
        if (outcome.ok) order.push(tenant);
      });
    await Promise.all([runJob('a', 'a1'), runJob('a', 'a2'), runJob('b', 'b1')]);
    expect(order.toSorted()).toEqual(['a', 'a', 'b']);
    expect(sandbox.stats().languages.python.processes).toBe(1);
  });

  it('refuses only a tenant with too many waiting jobs', async () => {
    const sandbox = createTestSandbox({ maxQueuedPerTenant: 1 });
    const sleepingCode = 'import time\ntime.sleep(0.2)\nreturn 1';
    await valueOf('return 1', {}, sandbox);
    const outcomes = [1, 2, 3, 4].map((n) => run(sleepingCode, { runId: `r${n}` }, sandbox));
    const otherOutcome = run('return 2', { tenant: 'other' }, sandbox);
    const codes = (await Promise.all(outcomes)).map((outcome) => (outcome.ok ? 'OK' : outcome.error.code));
    expect(codes.filter((code) => code === 'SANDBOX_BUSY')).toHaveLength(2);
    expect(await otherOutcome).toMatchObject({ ok: true });
  });
});
