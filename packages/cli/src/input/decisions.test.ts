import { describe, expect, it } from 'vitest';
import { decisionsOf } from './decisions.ts';
import type { DecisionOptions } from './decisions.ts';

describe('options that decide about the tool calls of an agent', () => {
  it.each<[DecisionOptions, unknown]>([
    [{}, undefined],
    [{ approve: 'all' }, { decision: 'approve' }],
    [
      { deny: 'all', reason: 'no' },
      { decision: 'deny', reason: 'no' },
    ],
    [
      { approve: '1.1, 1.3', deny: '1.2', reason: 'no', edit: ['1.4={"a": "b=c"}'] },
      {
        decisions: {
          '1.1': { decision: 'approve' },
          '1.3': { decision: 'approve' },
          '1.2': { decision: 'deny', reason: 'no' },
          '1.4': { decision: 'edit', arguments: { a: 'b=c' } },
        },
      },
    ],
  ])('%j are converted to an answer', (options, answer) => {
    expect(decisionsOf(options)).toEqual(answer);
  });

  it.each<[DecisionOptions, RegExp]>([
    [{ reason: 'no' }, /--reason has no effect/],
    [{ approve: 'all', deny: '1.1' }, /name the calls/],
    [{ approve: '1.1', deny: '1.1' }, /Call 1\.1 has two decisions/],
    [{ edit: ['1.1'] }, /--edit takes CALL=JSON/],
    [{ edit: ['1.1={'] }, /not JSON/],
  ])('%j are refused', (options, message) => {
    expect(() => decisionsOf(options)).toThrow(message);
  });
});
