import type { RunEvent } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { streamEvents } from './stream.ts';

const pendingPromise = new Promise<never>(() => undefined);
type EmissionEvent = Extract<RunEvent, { type: 'block:emission' }>;

function emissionEvent(
  emission: EmissionEvent['emission'],
  blockName = 'Agent',
  scope: number[] = [],
): EmissionEvent {
  return {
    type: 'block:emission',
    runId: 'r',
    atMs: 1,
    number: 1,
    blockId: blockName,
    blockName,
    scope,
    emission,
  };
}

function completedEvent(executionOrder: number): RunEvent {
  return {
    type: 'block:completed',
    runId: 'r',
    atMs: 1,
    log: { executionOrder },
    output: null,
  } as unknown as RunEvent;
}

async function outputOf(events: RunEvent[], json = false) {
  const io = createRecordingIo();
  const source = async function* () {
    yield* events;
  };
  await streamEvents(io, source(), { json, failure: pendingPromise });
  return { stdout: io.stdout.text, stderr: io.stderr.text };
}

describe('a stream of a run', () => {
  it('has the text of an agent on stdout, and its name on stderr', async () => {
    const events = ['Ra', 'in', '.'].map((text) => emissionEvent({ type: 'text', text }));
    expect(await outputOf([completedEvent(1), ...events])).toEqual({
      stdout: 'Rain.\n',
      stderr: '  Agent:\n',
    });
  });

  it('ends the line after text that was not the answer, and after each agent and branch', async () => {
    const { stdout, stderr } = await outputOf([
      emissionEvent({ type: 'text', text: 'I look.' }),
      emissionEvent({ type: 'reset' }),
      emissionEvent({ type: 'thinking', text: 'hm' }),
      emissionEvent({ type: 'text', text: 'Snow.' }),
      emissionEvent({ type: 'text', text: 'One' }, 'B', [0]),
      emissionEvent({ type: 'text', text: 'Two\n' }, 'B', [1]),
    ]);
    expect(stdout).toBe('I look.\nSnow.\nOne\nTwo\n');
    expect(stderr).toBe('  Agent:\n  (not the answer)\n  B:\n  B:\n');
  });

  it('removes control characters from the text of a model, even across chunks', async () => {
    const events = ['\u001b', '[2J\u202e', '\u0007done'].map((text) => emissionEvent({ type: 'text', text }));
    expect((await outputOf(events)).stdout).toBe('[2Jdone\n');
  });

  it('has each event as a line of JSON, without repeated events of blocks', async () => {
    const text = emissionEvent({ type: 'text', text: 'a\nb' });
    const events = [completedEvent(1), text, text, completedEvent(1), completedEvent(2)];
    const { stdout } = await outputOf(events, true);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as RunEvent);
    expect(lines).toEqual([completedEvent(1), text, text, completedEvent(2)]);
  });

  it('rejects when the run fails with an internal error', async () => {
    const failure = Promise.reject(new Error('broken'));
    const endlessEvents = { [Symbol.asyncIterator]: () => ({ next: () => pendingPromise }) };
    await expect(streamEvents(createRecordingIo(), endlessEvents, { json: true, failure })).rejects.toThrow(
      'broken',
    );
  });
});
