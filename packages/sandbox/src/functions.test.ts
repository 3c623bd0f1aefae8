import { afterAll, describe, expect, it } from 'vitest';
import { valueIn } from '../../../test/support/outcome.ts';
import { createSandbox, type FunctionJob, type FunctionOutcome } from './index.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const run = (code: string, fields: Partial<FunctionJob> = {}): Promise<FunctionOutcome> =>
  sandbox.run({ runId: 'functions', code, ...fields });

const valueOf = async (code: string, fields: Partial<FunctionJob> = {}): Promise<unknown> =>
  valueIn(await run(code, fields));

describe('a function', () => {
  it('returns its value as JSON', async () => {
    expect(await valueOf('return { a: [1, "two", null], b: undefined }')).toEqual({ a: [1, 'two', null] });
  });

  it('returns null for undefined, functions and symbols', async () => {
    expect(await valueOf('')).toBeNull();
    expect(await valueOf('return () => 1')).toBeNull();
    expect(await valueOf('return Symbol("x")')).toBeNull();
  });

  it('converts dates, NaN and maps as JSON.stringify does', async () => {
    expect(await valueOf('return { n: NaN, d: new Date(0), m: new Map([[1, 2]]) }')).toEqual({
      n: null,
      d: '1970-01-01T00:00:00.000Z',
      m: {},
    });
  });

  it('may await at the top level', async () => {
    expect(await valueOf('const x = await Promise.resolve(4); await null; return x + 1')).toBe(5);
  });

  it('sees each value as a parameter and each global as a global', async () => {
    const fields = { values: { item: '{"n":2}', $x: '3' }, globals: { params: '{"q":5}' } };
    expect(
      await valueOf('return [item.n, $x, params.q, globalThis.params.q, typeof globalThis.item]', fields),
    ).toEqual([2, 3, 5, 5, 'undefined']);
  });

  it('gets its own copies of values, even of equal ones', async () => {
    expect(
      await valueOf('a.list.push(2); return [a.list, b.list]', {
        values: { a: '{"list":[1]}', b: '{"list":[1]}' },
      }),
    ).toEqual([[1, 2], [1]]);
  });

  it('treats __proto__ in a value as an ordinary key', async () => {
    expect(
      await valueOf('return [Object.keys(v), ({}).polluted ?? null]', {
        values: { v: '{"__proto__":{"polluted":1}}' },
      }),
    ).toEqual([['__proto__'], null]);
  });

  it('treats values with quotes, backticks, templates and comment ends as data', async () => {
    const text = '\' " ` ${1} */ // \\ \u2028 </script>';
    expect(await valueOf('return v', { values: { v: JSON.stringify(text) } })).toBe(text);
  });

  it('reports the time it used', async () => {
    const outcome = await run('const end = Date.now() + 30; while (Date.now() < end); return 1');
    expect(outcome.ok).toBe(true);
    expect(outcome.cpuMs).toBeGreaterThanOrEqual(28);
    expect(outcome.wallMs).toBeGreaterThanOrEqual(outcome.cpuMs);
  });

  it('refuses a value whose name is not an identifier', async () => {
    await expect(run('return 1', { values: { 'a){}; evil(': '1' } })).rejects.toMatchObject({
      code: 'INVALID_JOB',
    });
  });

  it('refuses an unknown value of the option `share`', () => {
    expect(() => createSandbox({ share: 'isolate' as never })).toThrow(
      /share is isolate; it must be one of: run, tenant, none/,
    );
  });

  it('refuses limits out of range', async () => {
    await expect(run('return 1', { limits: { memoryMiB: 4 } })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
  });
});

describe('errors of user code', () => {
  const errorOf = async (code: string, fields: Partial<FunctionJob> = {}) => {
    const outcome = await run(code, fields);
    if (outcome.ok) throw new Error(`It returned ${outcome.json}.`);
    return outcome.error;
  };

  it('have name, message, line and column of the given code', async () => {
    expect(await errorOf('const a = 1;\n\n  throw new TypeError("boo")')).toMatchObject({
      code: 'USER_ERROR',
      name: 'TypeError',
      message: 'boo',
      line: 3,
      column: 9,
      retryable: false,
    });
  });

  it('keep the name of an Error subclass', async () => {
    expect(await errorOf('class Own extends Error { name = "Own" }\nthrow new Own("x")')).toMatchObject({
      name: 'Own',
      message: 'x',
      line: 2,
    });
  });

  it('have only user frames in their stack', async () => {
    const { stack } = await errorOf('function inner() {\n  null.x\n}\nfunction outer() { inner() }\nouter()');
    expect(stack?.split('\n').slice(1)).toEqual([
      '    at inner (line 2:8)',
      '    at outer (line 4:20)',
      '    at line 5:1',
    ]);
  });

  it("report the user's line below built-in frames", async () => {
    expect(await errorOf('\nJSON.parse("{")')).toMatchObject({
      name: 'SyntaxError',
      code: 'USER_ERROR',
      line: 2,
    });
  });

  it('have the correct line after an await and in a timer', async () => {
    expect(
      await errorOf('await null;\nawait new Promise((r) => setTimeout(r, 1));\nthrow new Error("late")'),
    ).toMatchObject({ line: 3 });
    expect(
      await errorOf('setTimeout(() => {\n throw new RangeError("t") }, 1); await new Promise(() => {})'),
    ).toMatchObject({ name: 'RangeError', line: 2 });
  });

  it('include rejections of an async function that a timer calls', async () => {
    const code =
      'class Own extends Error { name = "Own" }\nsetTimeout(async () => { throw new Own("left") }, 1);';
    expect(await errorOf(`${code}\nawait new Promise(() => {})`)).toMatchObject({
      code: 'USER_ERROR',
      name: 'Own',
      message: 'left',
    });
  });

  it.each([
    ['null', 'null'],
    ['undefined', 'undefined'],
    ['"text"', 'text'],
    ['42', '42'],
    ['{ message: "not an error" }', '[object Object]'],
    ['Object.create(null)', '[value without text]'],
    ['Symbol("s")', 'Symbol(s)'],
  ])('may be thrown values that are not errors: %s', async (thrown, message) => {
    expect(await errorOf(`throw ${thrown}`)).toMatchObject({ code: 'USER_ERROR', name: 'Error', message });
  });

  it('are SYNTAX_ERROR with line and column when the code does not compile', async () => {
    expect(await errorOf('const a = 1;\nlet b = ;')).toMatchObject({
      code: 'SYNTAX_ERROR',
      name: 'SyntaxError',
      line: 2,
      column: 9,
    });
    expect(await errorOf('return 1 +', { values: { x: '1' } })).toMatchObject({
      code: 'SYNTAX_ERROR',
      line: 1,
    });
    expect(await errorOf('const x = 1', { values: { x: '1' } })).toMatchObject({
      code: 'SYNTAX_ERROR',
      message: expect.stringContaining('already been declared'),
    });
  });

  it.each([
    ['a cycle', 'const a = {}; a.a = a; return a'],
    ['a BigInt', 'return { n: 10n }'],
    ['a throwing toJSON', 'return { toJSON() { throw new Error("no") } }'],
  ])('are RESULT_NOT_SERIALIZABLE for %s', async (_description, code) => {
    expect(await errorOf(code)).toMatchObject({ code: 'RESULT_NOT_SERIALIZABLE', retryable: false });
  });

  it('keep the console output that precedes them', async () => {
    const outcome = await run('console.log("before"); throw new Error("x")');
    expect(outcome).toMatchObject({ ok: false, stdout: 'before' });
  });

  it('are INPUT_TOO_LARGE for inputs and code over their limits', async () => {
    const values = { v: JSON.stringify('x'.repeat(99)) };
    expect(await errorOf('return 1', { values, limits: { inputChars: 50 } })).toMatchObject({
      code: 'INPUT_TOO_LARGE',
    });
    expect(await errorOf(`return 1 // ${'x'.repeat(100)}`, { limits: { codeChars: 50 } })).toMatchObject({
      code: 'INPUT_TOO_LARGE',
    });
  });
});
