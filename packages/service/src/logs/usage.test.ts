import { expect, it } from 'vitest';
import { usageOf } from './usage.ts';

it('the usage of an agent has model, tokens, cost and tool calls from its output', () => {
  const output = {
    model: 'm-1',
    tokens: { input: 3, output: 4, total: 7, cached: 1 },
    cost: { input: 0.1, output: 0.2, total: 0.3 },
    toolCalls: {
      list: [{ name: 'search', arguments: { q: 'x' }, result: 'found', failed: false }],
      count: 1,
    },
  };
  expect(usageOf('agent', output)).toEqual({
    model: 'm-1',
    tokens: { input: 3, output: 4, total: 7 },
    cost: { input: 0.1, output: 0.2, total: 0.3, totalMicros: 300_000 },
    toolCalls: [{ name: 'search', arguments: { q: 'x' }, result: 'found' }],
  });
});

it('blocks whose outputs contain data from callers have no usage', () => {
  for (const type of ['start_trigger', 'function', 'api', 'response', 'workflow', 'variables'])
    expect(usageOf(type, { model: 'm', cost: { total: 5 } })).toBeUndefined();
});

it('the usage has only non-negative numbers, and long names are truncated', () => {
  expect(usageOf('agent', { model: 'x'.repeat(500), cost: { total: -1, input: '5' }, tokens: 7 })).toEqual({
    model: 'x'.repeat(200),
  });
  expect(usageOf('agent', 'text')).toBeUndefined();
  expect(usageOf('agent', { model: '', toolCalls: { list: [1] } })).toEqual({ toolCalls: [] });
});
