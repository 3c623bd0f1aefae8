import { describe, expect, it } from 'vitest';
import { readJobResult, readExpressionResults, readFunctionResult } from './job-result.ts';
import { resolveLimits } from './limits.ts';
import { Job } from './pool/job.ts';
import type { EndCode } from './protocol.ts';

const job = new Job(
  {
    runId: 'r',
    tenant: 't',
    mode: 'function',
    kind: 'function',
    args: [],
    limits: resolveLimits({ resultChars: 24, stdoutChars: 10 }),
  },
  () => {},
);

function readResult(
  code: EndCode,
  text: string,
  stdout = '',
  read: (text: string) => unknown = readFunctionResult,
): string {
  const done = {
    t: 'done' as const,
    id: 1,
    code,
    text,
    stdout,
    cpuMs: 1,
    wallMs: 2,
    waitedForContext: false,
    next: 0,
    rssMiB: 60,
  };
  const result = readJobResult({ done }, job, read);
  return result.ok ? JSON.stringify(result.value) : result.error.code;
}

const readTwoExpressions = (text: string) => readExpressionResults(text, 2);

describe('the result of a job', () => {
  it('is accepted if it is the JSON of a result', () => {
    expect(readResult('OK', '{"a":1}')).toBe(JSON.stringify('{"a":1}'));
    expect(readResult('OK', '{"index":1,"json":[]}', '', (text) => readExpressionResults(text, 2))).toBe(
      '{"index":1,"json":[]}',
    );
  });

  it.each([
    ['a string that is not JSON', 'OK', 'undefined', ''],
    ['a result over its limit', 'OK', `"${'x'.repeat(30)}"`, ''],
    ['output over its limit', 'OK', '1', 'x'.repeat(100)],
    ['an error that is not JSON', 'GUEST_ERROR', 'oops', ''],
    [
      'an error of an unknown phase',
      'GUEST_ERROR',
      '{"phase":"constructor","name":"E","message":"m","stack":""}',
      '',
    ],
    ['an error over its limit', 'GUEST_ERROR', `{"phase":"run","message":"${'x'.repeat(200_000)}"}`, ''],
    ['a violation of the protocol', 'PROTOCOL', 'x', ''],
  ] as const)('is refused with SANDBOX_PROTOCOL for %s', (_description, code, text, stdout) => {
    expect(readResult(code, text, stdout)).toBe('SANDBOX_PROTOCOL');
  });

  it.each([
    ['[]'],
    ['{"index":0}'],
    ['{"index":2,"json":[]}'],
    ['{"index":-2,"json":[]}'],
    ['{"index":0.5,"json":[]}'],
    ['{"index":0,"json":["1","1","1"]}'],
    ['{"index":0,"json":[1]}'],
    ['{"index":0,"json":["no json"]}'],
    ['{"__proto__":{"index":0,"json":[]}}'],
  ])('is not a result of expressions: %s', (text) => {
    expect(readTwoExpressions(text)).toBeUndefined();
  });

  it('with malformed error fields keeps only strings and integers', () => {
    const json = '{"phase":"run","name":7,"message":{"a":1},"stack":null,"line":-1,"column":1.5,"index":"0"}';
    const done = {
      t: 'done' as const,
      id: 1,
      code: 'GUEST_ERROR' as const,
      text: json,
      stdout: '',
      cpuMs: 1,
      wallMs: 1,
      waitedForContext: false,
      next: 0,
      rssMiB: 1,
    };
    expect(readJobResult({ done }, job, readFunctionResult)).toMatchObject({
      ok: false,
      index: -1,
      error: { code: 'USER_ERROR', name: 'Error', message: '', retryable: false },
    });
  });
});
