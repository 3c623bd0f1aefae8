import { describe, expect, it } from 'vitest';
import type { BlockLog, LogScope } from './block-log.ts';
import type { RunRecord } from './run-record.ts';
import { traceOf } from './trace.ts';
import type { Span } from './trace.ts';

const record: RunRecord = {
  runId: 'run',
  workflowId: 'w',
  workflowName: 'Flow',
  status: 'completed',
  pauseKind: undefined,
  createdMs: 0,
  startedMs: 1,
  endedMs: 100,
  input: { v: {} },
  output: { v: { ok: true } },
  error: undefined,
  pauses: [],
  parentRunId: undefined,
  seq: 9,
  suspended: undefined,
};

let order = 0;

function blockLog(blockId: string, scopes: LogScope[] = [], properties: Partial<BlockLog> = {}): BlockLog {
  order++;
  return {
    runId: 'run',
    blockId,
    blockName: blockId.toUpperCase(),
    blockType: 'function',
    executionOrder: order,
    status: 'completed',
    startedMs: order * 10,
    endedMs: order * 10 + 5,
    durationMs: 5,
    errorHandled: false,
    tries: 1,
    input: undefined,
    output: undefined,
    error: undefined,
    container: scopes.at(-1),
    parents: scopes.slice(0, -1),
    ...properties,
  };
}

const loopScope = (index: number): LogScope => ({ kind: 'loop', blockId: 'l', index });
const branchScope = (index: number): LogScope => ({ kind: 'parallel', blockId: 'p', index });

function outlineOf(span: Span): unknown {
  return span.children.length === 0 ? span.name : { [span.name]: span.children.map(outlineOf) };
}

describe('the trace of a run', () => {
  it('groups blocks by container and by iteration or branch, at any depth', () => {
    const logs = [
      blockLog('a'),
      blockLog('b', [loopScope(0), branchScope(0)]),
      blockLog('b', [loopScope(0), branchScope(1)]),
      blockLog('p', [loopScope(0)], { blockType: 'parallel' }),
      blockLog('b', [loopScope(1), branchScope(0)]),
      blockLog('p', [loopScope(1)], { blockType: 'parallel' }),
      blockLog('l', [], { blockType: 'loop' }),
    ];
    expect(outlineOf(traceOf(record, logs))).toEqual({
      Flow: [
        'A',
        {
          L: [
            { 'iteration 0': [{ P: [{ 'branch 0': ['B'] }, { 'branch 1': ['B'] }] }] },
            { 'iteration 1': [{ P: [{ 'branch 0': ['B'] }] }] },
          ],
        },
      ],
    });
  });

  it('gives every span a unique id that stays the same while the run continues', () => {
    const logs = [
      blockLog('b', [loopScope(0)]),
      blockLog('b', [loopScope(1)]),
      blockLog('l', [], { blockType: 'loop' }),
    ];
    const idsOf = (span: Span): string[] => [span.id, ...span.children.flatMap(idsOf)];
    const allIds = idsOf(traceOf(record, logs));
    expect(new Set(allIds).size).toBe(allIds.length);
    expect(idsOf(traceOf(record, logs.toReversed()))).toEqual(allIds);
  });

  it('gives a container without a log the times and status of the spans in it', () => {
    const logs = [
      blockLog('b', [loopScope(0)]),
      blockLog('b', [loopScope(1)], { status: 'running', endedMs: undefined, durationMs: undefined }),
    ];
    const [loop] = traceOf({ ...record, status: 'running', endedMs: undefined }, logs).children;
    expect(loop).toMatchObject({
      type: 'loop',
      status: 'running',
      startMs: logs[0]?.startedMs,
      endMs: undefined,
    });
    expect(loop?.children.map(({ status }) => status)).toEqual(['completed', 'running']);
  });
});
