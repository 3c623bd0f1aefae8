import type { BlockLog, Entry, RunHeader, RunRecord } from '@heddle/core';

/** Returns a run as a driver creates it. */
export function createRunHeader(runId: string, overrides: Partial<RunHeader> = {}): RunHeader {
  return {
    runId,
    workflowId: 'workflow',
    planHash: 'sha256:plan',
    version: undefined,
    parent: undefined,
    mocks: null,
    env: [],
    createdMs: 1000,
    ...overrides,
  };
}

/** Returns the first entry of a journal. */
export function createStartedEntry(atMs = 1000): Entry {
  return {
    seq: 1,
    atMs,
    type: 'started',
    format: 1,
    start: 's',
    input: { v: {} },
    graceMs: 0,
    variables: {},
  };
}

/** Returns a later entry of a journal. */
export function createEntry(seq: number, text = 'x'): Entry {
  return {
    seq,
    atMs: 1000 + seq,
    type: 'completed',
    try: 1,
    startedMs: 1000,
    output: { v: { text } },
    block: 'block',
    scope: [seq],
  };
}

/** Returns a record of a run. */
export function createRunRecord(runId: string, overrides: Partial<RunRecord> = {}): RunRecord {
  return {
    runId,
    workflowId: 'workflow',
    workflowName: 'Workflow',
    status: 'running',
    pauseKind: undefined,
    createdMs: 1000,
    startedMs: 1000,
    endedMs: undefined,
    input: { v: {} },
    output: undefined,
    error: undefined,
    pauses: [],
    parentRunId: undefined,
    seq: 1,
    suspended: undefined,
    ...overrides,
  };
}

/** Returns the log of one execution of a block. */
export function createBlockLog(
  runId: string,
  executionOrder: number,
  overrides: Partial<BlockLog> = {},
): BlockLog {
  return {
    runId,
    blockId: `b${executionOrder}`,
    blockName: 'Block',
    blockType: 'function',
    executionOrder,
    status: 'running',
    startedMs: 1000,
    endedMs: undefined,
    durationMs: undefined,
    errorHandled: false,
    tries: 1,
    input: undefined,
    output: undefined,
    error: undefined,
    container: { kind: 'loop', blockId: 'loop', index: 2 },
    parents: [],
    ...overrides,
  };
}
