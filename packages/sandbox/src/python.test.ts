import { afterAll, describe, expect, it } from 'vitest';
import { failureIn, valueIn } from '../../../test/support/outcome.ts';
import { createSandbox, type FunctionJob, type FunctionOutcome } from './index.ts';

const sandbox = createSandbox({ python: { maxProcesses: 1 } });
afterAll(() => sandbox.close());

const run = (code: string, fields: Partial<FunctionJob> = {}): Promise<FunctionOutcome> =>
  sandbox.run({ runId: 'python', language: 'python', code, ...fields });

const valueOf = async (code: string, fields: Partial<FunctionJob> = {}): Promise<unknown> =>
  valueIn(await run(code, fields));

const errorOf = async (code: string, fields: Partial<FunctionJob> = {}) => failureIn(await run(code, fields));

describe('a function in Python', () => {
  it('returns its value', async () => {
    expect(await valueOf('return {"a": [1, 2.5, None, True, "é"]}')).toEqual({
      a: [1, 2.5, null, true, 'é'],
    });
  });

  it('returns null without a return', async () => {
    expect(await valueOf('x = 1\nx + 1')).toBeNull();
    expect(await valueOf('')).toBeNull();
    expect(await valueOf('if False:\n  return 1')).toBeNull();
  });

  it('returns the value of a variable whose name has the form __…_result__', async () => {
    expect(await valueOf('__block_result__ = {"n": 3}')).toEqual({ n: 3 });
  });

  it('runs as a module: definitions see each other, with a return and without', async () => {
    const createCode = (end: string): string => `
import math
from dataclasses import dataclass
count: int = 0
limit: int
def up():
    global count
    count += 1
    return fact(count + 3)
def fact(n):
    return 1 if n < 2 else n * fact(n - 1)
@dataclass
class P:
    x: int
    y: 'P | None' = None
last = [(n := i) for i in range(3)]
up()
${end}`;
    const result = '[count, up(), n, math.floor(1.5), P(1).x, __name__, "count" in globals()]';
    expect(await valueOf(createCode(`return ${result}`))).toEqual([1, 120, 2, 1, 1, '__main__', true]);
    expect(await valueOf(createCode(`__block_result__ = ${result}`))).toEqual([
      1,
      120,
      2,
      1,
      1,
      '__main__',
      true,
    ]);
  });

  it('may await at the top level, with a return and without', async () => {
    expect(
      await valueOf('import asyncio\nawait asyncio.sleep(0.001)\nreturn await asyncio.sleep(0, 7)'),
    ).toBe(7);
    expect(await valueOf('import asyncio\n__block_result__ = await asyncio.sleep(0, 8)')).toBe(8);
    expect(
      await valueOf('async def g():\n    for i in range(3): yield i\nreturn [i async for i in g()]'),
    ).toEqual([0, 1, 2]);
  });

  it('may run a nested event loop inside an await; an operation that cannot end there raises an error', async () => {
    const code = `
import asyncio
async def main():
    return await asyncio.sleep(0.001, 1)
first = await asyncio.sleep(0, asyncio.run(main()))
async def never():
    await asyncio.get_running_loop().create_future()
try: asyncio.run(never())
except RuntimeError as error: second = "await at the top" in str(error)
return [first, second, await main()]`;
    expect(await valueOf(code)).toEqual([1, true, 1]);
  });

  it('may start with a byte order mark', async () => {
    expect(await valueOf('\ufeffreturn 1')).toBe(1);
  });

  it('may run its own event loop', async () => {
    const code = `
import asyncio
async def one(n):
    await asyncio.sleep(0.002 * n)
    return n
async def main():
    async with asyncio.timeout(5):
        return await asyncio.gather(*(one(n) for n in (3, 1, 2)))
return [asyncio.run(main()), asyncio.get_event_loop().run_until_complete(main())]`;
    expect(await valueOf(code)).toEqual([
      [3, 1, 2],
      [3, 1, 2],
    ]);
  });

  it('sees values and globals as variables of the module, with json and os imported', async () => {
    const fields = {
      values: { __block_0_: '{"n":2}', item: '"it\'s"' },
      globals: { params: '{"q":5}', environmentVariables: '{"K":"v"}' },
    };
    expect(
      await valueOf(
        'return [__block_0_["n"], item, params, environmentVariables["K"], globals()["item"], json.loads("[1]"), os.sep]',
        fields,
      ),
    ).toEqual([2, "it's", { q: 5 }, 'v', "it's", [1], '/']);
  });

  it('treats values with quotes, string delimiters and code as data', async () => {
    const text = `''' """ \\ {x} \u2028 \ud83d\ude00 \u0000 ''' + __import__("os").name`;
    expect(await valueOf('return v', { values: { v: JSON.stringify(text) } })).toBe(text);
  });

  it('returns strings with lone surrogates unchanged', async () => {
    expect(await valueOf('return [v, "\\ud800"]', { values: { v: '"\\ud83d"' } })).toEqual([
      '\ud83d',
      '\ud800',
    ]);
  });
});

describe('output of Python', () => {
  it('has the lines of both streams in order', async () => {
    const code = `
import sys, logging
print("a", 1, end="")
print("b", file=sys.stderr)
sys.stdout.write("c\\nd")
sys.stdout.buffer.write("é".encode())
logging.warning("e")
print("\\n")`;
    expect((await run(code)).stdout).toBe('a 1b\nc\ndéWARNING:root:e\n\n');
  });

  it('is truncated at its limit, and uses no memory beyond it', async () => {
    const outcome = await run('for i in range(100000): print(i)\nreturn 1', { limits: { logLines: 3 } });
    expect(outcome).toMatchObject({ ok: true, stdout: '0\n1\n2\n[stdout truncated]' });
  });

  it('is included in a failure', async () => {
    expect(await run('print("before")\nraise ValueError("x")')).toMatchObject({
      ok: false,
      stdout: 'before',
    });
  });
});

describe('errors of Python', () => {
  it('have name, message, line, column and the frames of the block', async () => {
    const error = await errorOf('def inner(x):\n    return 1 / x\n\ndef outer():\n  inner(0)\nouter()');
    expect(error).toMatchObject({
      code: 'USER_ERROR',
      name: 'ZeroDivisionError',
      message: 'division by zero',
      line: 2,
      column: 12,
      retryable: false,
    });
    expect(error.stack?.split('\n').slice(1)).toEqual([
      '    at inner (line 2:12)',
      '    at outer (line 5:3)',
      '    at line 6:1',
    ]);
  });

  it.each(['', '\nreturn 1', '\nimport asyncio\nawait asyncio.sleep(0)'])(
    'of a library have the line of the block that called it, if the block ends with %j',
    async (end) => {
      expect(await errorOf(`\njson.loads("{")${end}`)).toMatchObject({
        code: 'USER_ERROR',
        name: 'JSONDecodeError',
        line: 2,
      });
    },
  );

  it('have their line after an await', async () => {
    expect(
      await errorOf('import asyncio\nawait asyncio.sleep(0.001)\nraise RuntimeError("late")'),
    ).toMatchObject({ name: 'RuntimeError', message: 'late', line: 3 });
  });

  it('of a class of the block keep its name', async () => {
    expect(await errorOf('class Own(Exception): pass\nraise Own("x")')).toMatchObject({
      name: 'Own',
      message: 'x',
      line: 2,
    });
  });

  it.each([
    ['a = 1\nb = (2', 2, 5],
    ['x = 1\n  y = 2', 2, 1],
    ['for x in [1]:\nprint(x)', 2, 1],
    ['yield 1\nreturn 2', 1, 1],
    ['class A:\n    return 1', 2, 5],
    ['return 1\nawait = 2', 2, 1],
    ['def f():\n    await g()', 2, 5],
  ])('are SYNTAX_ERROR with line and column: %j', async (code, line, column) => {
    expect(await errorOf(code)).toMatchObject({ code: 'SYNTAX_ERROR', line });
    expect((await errorOf(code)).column).toBeGreaterThanOrEqual(column);
  });

  it('of code that the block compiles are runtime errors', async () => {
    expect(await errorOf('\neval("1 +")')).toMatchObject({
      code: 'USER_ERROR',
      name: 'SyntaxError',
      line: 2,
    });
  });

  it('name a missing module', async () => {
    expect(await errorOf('import os.path\nimport numpy')).toMatchObject({
      code: 'MODULE_NOT_IN_IMAGE',
      name: 'ModuleNotFoundError',
      message: "No module named 'numpy'",
      line: 2,
    });
    expect(await valueOf('try: import numpy\nexcept ImportError: return "without"')).toBe('without');
  });

  it('of sys.exit name the exit code', async () => {
    expect(await errorOf('import sys\nsys.exit(3)')).toMatchObject({
      code: 'USER_ERROR',
      name: 'SystemExit',
      message: expect.stringContaining('3') as string,
      line: 2,
    });
  });

  it('of memory are reported as such, and the next job is served', async () => {
    expect(await errorOf('x = bytearray(10 ** 9)')).toMatchObject({
      code: 'OUT_OF_MEMORY',
      name: 'MemoryError',
    });
    expect(await errorOf('x = []\nwhile True: x.append(bytes(1000000))')).toMatchObject({
      code: 'OUT_OF_MEMORY',
      name: 'MemoryError',
      message: expect.stringContaining('memory') as string,
    });
    expect(await valueOf('return 1')).toBe(1);
  });

  it.each([
    ['recursion', 'def f(): return f()\nf()', 'RecursionError'],
    ['an error without text', 'class E(Exception):\n  def __str__(self): raise ValueError\nraise E()', 'E'],
    ['an interrupt', 'raise KeyboardInterrupt()', 'KeyboardInterrupt'],
  ])('are reported for %s', async (_description, code, name) => {
    expect(await errorOf(code)).toMatchObject({ code: 'USER_ERROR', name });
    expect(await valueOf('return 1')).toBe(1);
  });
});
