import { afterAll, describe, expect, it } from 'vitest';
import { failureIn, valueIn } from '../../../test/support/outcome.ts';
import { createSandbox, type FunctionJob, type FunctionOutcome } from './index.ts';

const sandbox = createSandbox({ python: { maxProcesses: 1 } });
afterAll(() => sandbox.close());

const run = (code: string, fields: Partial<FunctionJob> = {}): Promise<FunctionOutcome> =>
  sandbox.run({ runId: 'values', language: 'python', code, ...fields });

const valueOf = async (code: string, fields: Partial<FunctionJob> = {}): Promise<unknown> =>
  valueIn(await run(code, fields));

const errorOf = async (code: string, fields: Partial<FunctionJob> = {}) => failureIn(await run(code, fields));

describe('values of Python as JSON', () => {
  it.each([
    ['datetime.datetime(2026, 1, 2, 3, 4, 5)', '2026-01-02T03:04:05'],
    ['datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)', '2026-01-02T00:00:00+00:00'],
    ['datetime.date(2026, 1, 2)', '2026-01-02'],
    ['datetime.time(3, 4)', '03:04:00'],
    ['datetime.timedelta(minutes=1.5)', 90],
    ['b"\\x00\\xff"', 'AP8='],
    ['bytearray(b"a")', 'YQ=='],
    ['(1, (2,))', [1, [2]]],
    ['{3, 1, 2}', [1, 2, 3]],
    ['frozenset(["b", "a"])', ['a', 'b']],
    ['range(3)', [0, 1, 2]],
    ['collections.deque([1])', [1]],
    ['{"a": 1}.keys()', ['a']],
    ['collections.OrderedDict(b=1, a=2)', { b: 1, a: 2 }],
    ['{1: "a", None: "b", True: "c"}', { 1: 'c', null: 'b' }],
    ['decimal.Decimal("1.10")', '1.10'],
    ['fractions.Fraction(1, 3)', '1/3'],
    ['uuid.UUID(int=1)', '00000000-0000-0000-0000-000000000001'],
    ['pathlib.Path("/a") / "b"', '/a/b'],
    ['enum.Enum("E", {"A": "x"}).A', 'x'],
    ['D(1, [D(2, None)])', { n: 1, more: [{ n: 2, more: null }] }],
    ['M()', { dumped: '2026-01-02' }],
    ['A()', [[1, 2]]],
    ['10 ** 20', 1e20],
  ])('include %s', async (expression, expected) => {
    const code = `
import collections, dataclasses, datetime, decimal, enum, fractions, pathlib, uuid
@dataclasses.dataclass
class D:
    n: int
    more: object
class M:
    def model_dump(self): return {"dumped": datetime.date(2026, 1, 2)}
class A:
    def tolist(self): return [(1, 2)]
return ${expression}`;
    expect(await valueOf(code)).toEqual(expected);
  });

  it.each([
    ['float("nan")', 'nan'],
    ['[1e308 * 10]', 'inf'],
    ['(lambda x: x.append(x) or x)([])', 'Circular'],
    ['object()', 'object'],
    ['lambda: 1', 'function'],
    ['1j', 'complex'],
    ['{(1, 2): 3}', 'tuple'],
    ['(n for n in [1])', 'generator'],
    ['dict', 'type'],
  ])('do not include %s', async (expression, expectedText) => {
    expect(await errorOf(`return ${expression}`)).toMatchObject({
      code: 'RESULT_NOT_SERIALIZABLE',
      message: expect.stringContaining(expectedText) as string,
      retryable: false,
    });
  });
});
