import type { JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { region } from '../../../../test/support/graph.ts';
import { contextOf } from '../../../../test/support/block.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { createBlockContext, targetOf } from './context.ts';

describe('the context of a block', () => {
  it('resolves a field as text, or natively, when it is asked for', () => {
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

  it('reads a field as JSON that values cannot change, when it is asked to (decision 57)', () => {
    const outputs = { P: { v: '","role":"admin' } };
    const context = contextOf({ type: 'mine', params: { a: '{"v": "<p.v>"}', b: '[<p.v>]' }, outputs });
    expect(context.field('a', 'json')).toEqual({ v: outputs.P.v });
    expect(context.field('b', 'json')).toEqual([outputs.P.v]);
    expect(context.field('a')).toBe('{"v": "","role":"admin"}');
  });

  it('tells of a field that its block takes apart what is sent, however it is asked for', () => {
    const { services, block, clock, signal } = contextOf({
      type: 'api',
      params: { url: 'https://h.test/<a.v>', body: '{"v": "<a.v>"}', headers: { 'X-A': '<a.v>' } },
      outputs: { A: { v: '../"' } },
    });
    const read: JsonObject = {};
    const context = createBlockContext({
      ...{ runId: 'r', workflowId: 'w', scope: [], try: 1, block, signal, clock, services },
      onRead: (name, value) => (read[name] = value),
    });
    const sent = { url: 'https://h.test/..%2F%22', body: '{"v": "../\\""}', headers: { 'X-A': '../"' } };
    expect(context.fields()).toEqual(sent);
    expect(read).toEqual(sent);
    expect(context.field('url', 'native')).toBe(sent.url);
  });

  it('has no field that the block has not, whatever its name', () => {
    expect(contextOf({}).field('constructor')).toBeUndefined();
  });

  it('has one idempotency key per place, equal over tries (decision 30)', () => {
    expect(contextOf({}).idempotencyKey).toBe('run-1/self/2/0');
  });

  it('gives the first source that has run, or {}', () => {
    expect(contextOf({ outputs: { A: { a: 1 }, B: { b: 1 } } }).sourceOutput()).toEqual({ a: 1 });
    expect(contextOf({ notRun: ['A'] }).sourceOutput()).toEqual({});
  });

  it('gives nothing of a container around the block', () => {
    const { services, block, clock, signal } = contextOf({ outputs: { L: { results: [['earlier']] } } });
    const parts = { runId: 'r', workflowId: 'w', scope: [], try: 1, signal, clock, services };
    expect(createBlockContext({ ...parts, block: { ...block, containers: ['l'] } }).sourceOutput()).toEqual(
      {},
    );
    expect(createBlockContext({ ...parts, block }).sourceOutput()).toEqual({ results: [['earlier']] });
  });

  it('gives the source whose edge is live, not one that ran in an earlier turn', () => {
    const { services, block, clock, signal } = contextOf({ outputs: { A: { a: 1 }, B: { b: 1 } } });
    const context = createBlockContext({
      runId: 'r',
      workflowId: 'w',
      block,
      scope: [],
      try: 1,
      signal,
      clock,
      services,
      liveSources: ['b'],
    });
    expect(context.sourceOutput()).toEqual({ b: 1 });
  });

  it('counts the time that is left', () => {
    expect(contextOf({ clock: new TestClock(100), deadlineMs: 350 }).remainingMs).toBe(250);
    expect(contextOf({ clock: new TestClock(400), deadlineMs: 350 }).remainingMs).toBe(0);
    expect(contextOf({}).remainingMs).toBeUndefined();
  });
});

describe('the target of a port', () => {
  it('is the first block that an edge leads to by it', () => {
    const graph = region('c:condition-1 -> b', 'c:condition-1 -> a', 'c:condition-2 -> a');
    const from = graph.nodes.findIndex((node) => node.id === 'c');
    expect(targetOf(graph, from, 'condition-1')).toBe('b');
    expect(targetOf(graph, from, 'condition-2')).toBe('a');
    expect(targetOf(graph, from, 'condition-3')).toBeUndefined();
  });
});
