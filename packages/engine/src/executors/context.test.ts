import type { JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { region } from '../../../../test/support/graph.ts';
import { contextOf } from '../../../../test/support/block.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { createBlockContext, portsOf, targetOf } from './context.ts';

describe('the context of a block', () => {
  it('resolves a field as text or as a native value on request', () => {
    const context = contextOf({
      params: { a: '<p.o>', b: 'x <p.n>', c: [1, '{{K}}'] },
      outputs: { P: { o: { q: 1 }, n: 2 } },
      env: { K: 'v' },
    });
    expect(context.field('a')).toBe('{"q":1}');
    expect(context.field('a', 'native')).toEqual({ q: 1 });
    expect(context.field('a', 'json')).toEqual({ q: 1 });
    expect(context.fields()).toEqual({ a: { q: 1 }, b: 'x 2', c: [1, 'v'] });
  });

  it('parses a field as JSON, and values cannot change its structure', () => {
    const outputs = { P: { v: '","role":"admin' } };
    const context = contextOf({ type: 'mine', params: { a: '{"v": "<p.v>"}', b: '[<p.v>]' }, outputs });
    expect(context.field('a', 'json')).toEqual({ v: outputs.P.v });
    expect(context.field('b', 'json')).toEqual([outputs.P.v]);
    expect(context.field('a')).toBe('{"v": "","role":"admin"}');
  });

  it('reports the parsed value of a field, whichever accessor reads it', () => {
    const { services, block, clock, signal, step } = contextOf({
      type: 'api',
      params: { url: 'https://h.test/<a.v>', body: '{"v": "<a.v>"}', headers: { 'X-A': '<a.v>' } },
      outputs: { A: { v: '../"' } },
    });
    const reportedValues: JsonObject = {};
    const context = createBlockContext({
      runId: 'r',
      workflowId: 'w',
      scope: [],
      try: 1,
      block,
      signal,
      clock,
      step,
      services,
      onRead: (name, value) => (reportedValues[name] = value),
    });
    const expected = { url: 'https://h.test/..%2F%22', body: '{"v": "../\\""}', headers: { 'X-A': '../"' } };
    expect(context.fields()).toEqual(expected);
    expect(reportedValues).toEqual(expected);
    expect(context.field('url', 'native')).toBe(expected.url);
  });

  it('has only the fields of the block, not inherited properties', () => {
    expect(contextOf({}).field('constructor')).toBeUndefined();
  });

  it('has one idempotency key per block execution, the same in every attempt', () => {
    expect(contextOf({}).idempotencyKey).toBe('run-1/self/2/0');
  });

  it('returns the output of the first source that has run, or {}', () => {
    expect(contextOf({ outputs: { A: { a: 1 }, B: { b: 1 } } }).sourceOutput()).toEqual({ a: 1 });
    expect(contextOf({ unexecutedBlocks: ['A'] }).sourceOutput()).toEqual({});
  });

  it('does not return the output of a surrounding container', () => {
    const { services, block, clock, signal, step } = contextOf({
      outputs: { L: { results: [['earlier']] } },
    });
    const options = { runId: 'r', workflowId: 'w', scope: [], try: 1, signal, clock, step, services };
    expect(createBlockContext({ ...options, block: { ...block, containers: ['l'] } }).sourceOutput()).toEqual(
      {},
    );
    expect(createBlockContext({ ...options, block }).sourceOutput()).toEqual({ results: [['earlier']] });
  });

  it('returns the output of the source with the live edge, not of one that ran in an earlier iteration', () => {
    const { services, block, clock, signal, step } = contextOf({ outputs: { A: { a: 1 }, B: { b: 1 } } });
    const context = createBlockContext({
      runId: 'r',
      workflowId: 'w',
      block,
      scope: [],
      try: 1,
      signal,
      clock,
      step,
      services,
      liveSources: ['b'],
    });
    expect(context.sourceOutput()).toEqual({ b: 1 });
  });

  it('computes the remaining time', () => {
    expect(contextOf({ clock: new TestClock(100), deadlineMs: 350 }).remainingMs).toBe(250);
    expect(contextOf({ clock: new TestClock(400), deadlineMs: 350 }).remainingMs).toBe(0);
    expect(contextOf({}).remainingMs).toBeUndefined();
  });
});

describe('the target of a port', () => {
  it('is the first block that is connected to the port', () => {
    const graph = region('c:condition-1 -> b', 'c:condition-1 -> a', 'c:condition-2 -> a');
    const nodeIndex = graph.nodes.findIndex((node) => node.id === 'c');
    expect(targetOf(graph, nodeIndex, 'condition-1')).toBe('b');
    expect(targetOf(graph, nodeIndex, 'condition-2')).toBe('a');
    expect(targetOf(graph, nodeIndex, 'condition-3')).toBeUndefined();
    expect(portsOf(graph, nodeIndex).sort()).toEqual(['condition-1', 'condition-2']);
  });
});
