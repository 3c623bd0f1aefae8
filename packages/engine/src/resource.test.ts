import { describe, expect, it } from 'vitest';
import { createBlockLog, createRunRecord } from '../../../test/support/run-data.ts';
import { Values } from './records/values.ts';
import { detailOf, finalOutput, resourceOf } from './resource.ts';
import { MemoryValueStore } from './store/memory.ts';

const values = new Values(new MemoryValueStore());
const pause = (name: string, kind: 'human' | 'time' = 'human') => ({
  token: `t-${name}`,
  blockId: name,
  blockName: name,
  scope: [],
  kind,
  pausedMs: 2000,
  dueMs: kind === 'time' ? 9000 : undefined,
  output: { v: { of: name } },
  inputFormat: [],
});

describe('resourceOf and detailOf', () => {
  it('show times as ISO strings, and the duration of an ended run', async () => {
    expect(await resourceOf(createRunRecord('r', { startedMs: 1000 }), values)).toMatchObject({
      startedAt: '1970-01-01T00:00:01.000Z',
      endedAt: null,
      durationMs: null,
      output: null,
    });
    const endedRecord = createRunRecord('r', {
      startedMs: 1000,
      endedMs: 3500,
      status: 'completed',
      output: { v: { n: 1 } },
    });
    expect(await resourceOf(endedRecord, values)).toMatchObject({ durationMs: 2500, output: { n: 1 } });
  });

  it('show the output of the only pause point that waits for a person, or a list of the outputs of all', async () => {
    const pausedRecord = createRunRecord('r', { status: 'paused', pauses: [pause('H'), pause('W', 'time')] });
    expect((await resourceOf(pausedRecord, values)).output).toEqual({ of: 'H' });
    const recordWithTwoPauses = createRunRecord('r', { status: 'paused', pauses: [pause('H'), pause('I')] });
    expect((await resourceOf(recordWithTwoPauses, values)).output).toEqual({
      pausedBlocks: [{ of: 'H' }, { of: 'I' }],
      pauseCount: 2,
    });
    expect((await detailOf(pausedRecord, values)).pauses[1]).toMatchObject({
      token: 't-W',
      resumesAt: '1970-01-01T00:00:09.000Z',
    });
  });

  it('show which block failed', async () => {
    const error = {
      code: 'C',
      message: 'm',
      retryable: false,
      blockId: 'b',
      blockName: 'B',
      scope: [1],
      details: { d: 1 },
    };
    expect((await resourceOf(createRunRecord('r', { status: 'failed', error }), values)).error).toEqual({
      code: 'C',
      message: 'm',
      details: { d: 1, blockId: 'b', blockName: 'B', scope: [1] },
    });
  });

  it('show the values at selected paths in the latest output of a block, or null', async () => {
    const logs = [
      createBlockLog('r', 1, { blockName: 'My A', output: { v: { list: [1] } } }),
      createBlockLog('r', 2, { blockName: 'My A', output: { v: { list: [1, { x: 2 }] } } }),
    ];
    const select = ['My A.list.1.x', 'mya.list', 'b1', 'mya.constructor', 'nope.x'];
    expect((await resourceOf(createRunRecord('r'), values, { select, logs })).blockOutputs).toEqual({
      'My A.list.1.x': 2,
      'mya.list': [1, { x: 2 }],
      b1: { list: [1] },
      'mya.constructor': null,
      'nope.x': null,
    });
  });

  it('show the control fields of a container that ends the run', async () => {
    const storedOutput = { results: [[{ v: 1 }]], control: { totalIterations: 1 } };
    expect(await finalOutput(storedOutput, values)).toEqual({ results: [[1]], totalIterations: 1 });
  });
});
