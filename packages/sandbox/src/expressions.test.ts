import { afterAll, describe, expect, it } from 'vitest';
import { createSandbox, type ExpressionJob, type ExpressionOutcome } from './index.ts';

const sandbox = createSandbox({ maxProcesses: 1 });
afterAll(() => sandbox.close());

const evaluate = (
  mode: ExpressionJob['mode'],
  ...expressions: (string | ExpressionJob['expressions'][number])[]
): Promise<ExpressionOutcome> =>
  sandbox.evaluate({
    runId: 'expressions',
    mode,
    expressions: expressions.map((expression) =>
      typeof expression === 'string' ? { code: expression } : expression,
    ),
  });

async function evaluateOne(code: string): Promise<unknown> {
  const outcome = await evaluate('values', code);
  if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
  return JSON.parse(outcome.json[0] as string);
}

describe('expressions', () => {
  it('in the mode first-true yield the index of the first truthy one', async () => {
    expect(await evaluate('first-true', '0', '""', '"yes"', 'true')).toMatchObject({
      ok: true,
      index: 2,
      json: ['0', '""', '"yes"'],
    });
  });

  it('in the mode first-true yield -1 if none is truthy', async () => {
    expect(await evaluate('first-true', 'false', 'null')).toMatchObject({ ok: true, index: -1 });
  });

  it('in the mode first-true are neither run nor compiled after the first truthy one', async () => {
    expect(await evaluate('first-true', 'true', '(((')).toMatchObject({ ok: true, index: 0 });
  });

  it('in the mode values yield the JSON of each', async () => {
    expect(await evaluate('values', '[1]', { code: 'x * 2', values: { x: '21' } })).toMatchObject({
      ok: true,
      index: -1,
      json: ['[1]', '42'],
    });
  });

  it('compile quickly with long sequences of slashes and asterisks in comments', async () => {
    const slashes = '/'.repeat(4_000);
    expect(
      await evaluate('values', `${slashes}\n1`, `/${'*'.repeat(4_000)}/ 2 ; ${slashes}`, slashes),
    ).toMatchObject({
      ok: true,
      json: ['1', '2', 'null'],
    });
  });

  it('see only their own values', async () => {
    const outcome = await evaluate('values', { code: 'x', values: { x: '1' } }, 'typeof x');
    expect(outcome).toMatchObject({ ok: true, json: ['1', '"undefined"'] });
  });

  it('see globals', async () => {
    const outcome = await sandbox.evaluate({
      runId: 'e',
      mode: 'values',
      expressions: [{ code: 'context.n + 1' }],
      globals: { context: '{"n":1}' },
    });
    expect(outcome).toMatchObject({ ok: true, json: ['2'] });
  });

  it.each([
    ['await Promise.resolve(5)', 5],
    ['1 // one', 1],
    ['1; // one', 1],
    ['1;;', 1],
    ['// lead\n 5 ; // see x;y', 5],
    ['"a; // b";', 'a; // b'],
    ['({ a: 1 })', { a: 1 }],
    ['{ a: 1 }', { a: 1 }],
    ['1 /* ; */', 1],
    ['\n 2 \n', 2],
  ])('allow trailing comments and semicolons: %s', async (code, expected) => {
    expect(await evaluateOne(code)).toEqual(expected);
  });

  it.each([[''], ['  '], ['// nothing'], ['/* nothing */ ;']])(
    'are undefined when empty: "%s"',
    async (code) => {
      expect(await evaluate('first-true', code)).toMatchObject({ ok: true, index: -1, json: ['null'] });
    },
  );

  it('report which one failed, and where', async () => {
    expect(await evaluate('values', '1', 'nope.x')).toMatchObject({
      ok: false,
      index: 1,
      error: { code: 'USER_ERROR', name: 'ReferenceError', line: 1, column: 1 },
    });
    expect(await evaluate('values', '1', '\n  null.x')).toMatchObject({
      ok: false,
      index: 1,
      error: { name: 'TypeError', line: 2, column: 8 },
    });
    expect(await evaluate('values', '[].x.y')).toMatchObject({
      ok: false,
      index: 0,
      error: { line: 1, column: 6 },
    });
    expect(await evaluate('values', '1', '2', '(1 +')).toMatchObject({
      ok: false,
      index: 2,
      error: { code: 'SYNTAX_ERROR', line: 1 },
    });
  });

  it('end at their time limit', async () => {
    const outcome = await sandbox.evaluate({
      runId: 'e',
      mode: 'values',
      expressions: [{ code: '(() => { for (;;); })()' }],
      limits: { cpuMs: 50 },
    });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'TIMEOUT_CPU' } });
  });
});
