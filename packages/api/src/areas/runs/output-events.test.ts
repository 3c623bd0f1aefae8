import { defineBlock } from '@heddle/engine';
import type { BlockContext } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createTestApi } from '../../../../../test/support/api.ts';
import { block, workflow } from '../../../../../test/support/workflow.ts';

type Behavior = (context: BlockContext) => { [field: string]: string | number } | Promise<never>;

/** What the block does when the response is read. */
let behavior: Behavior = () => ({});
let responseRead = Promise.withResolvers<void>();

const emitter = defineBlock({
  type: 'emitter',
  input: z.object({ key: z.string() }),
  async run(_fields, context) {
    await responseRead.promise;
    return behavior(context);
  },
});

const api = await createTestApi({
  engineOptions: { blocks: [emitter], env: { TOKEN: 'swordfish-1234' } },
});
const id = await api.deploy(
  workflow([block('Emitter', 'emitter', { key: '{{TOKEN}}' })], ['Start -> Emitter']),
);

const AGENT_EVENTS_HEADERS = { 'X-Sim-Stream-Protocol': 'agent-events-v1' };

/**
 * Runs the block. Returns the protocol of the response and its events, which have the first characters of the block's
 * id as `blockName`.
 */
async function streamEvents(
  nextBehavior: Behavior,
  body: object,
  headers: { [name: string]: string } = AGENT_EVENTS_HEADERS,
): Promise<{ protocol: string | null; events: unknown[] }> {
  behavior = nextBehavior;
  responseRead = Promise.withResolvers<void>();
  const options = { headers, body: { stream: true, ...body } };
  const response = await api.fetch('POST', `/api/v2/workflows/${id}/execute`, options);
  responseRead.resolve();
  const events = (await response.text())
    .trim()
    .split('\n\n')
    .map((message) => JSON.parse(message.replace(/^data: /, '')) as { blockId?: string })
    .map(({ blockId, ...event }) =>
      blockId === undefined ? event : { ...event, blockName: blockId.slice(0, 7) },
    );
  return { protocol: response.headers.get('x-sim-stream-protocol'), events: events.slice(0, -1) };
}

const blockName = 'Emitter';
const BODY_WITH_SELECTED_OUTPUTS = { selectedOutputs: ['Emitter.content', 'Emitter.count'] };

function emitTexts(...texts: string[]): Behavior {
  return ({ emit }) => {
    for (const text of texts) emit({ type: 'text', text });
    return { content: texts.join(''), count: texts.length };
  };
}

describe('a client that supports agent events', () => {
  it('gets the text of a selected block as it arrives, once', async () => {
    const { protocol, events } = await streamEvents(
      emitTexts('Good ', 'morning'),
      BODY_WITH_SELECTED_OUTPUTS,
    );
    expect(protocol).toBe('agent-events-v1');
    expect(events).toEqual([
      { blockName, chunk: 'Good ' },
      { blockName, chunk: 'morning' },
      { blockName, chunk: '2' },
      { event: 'final', data: { success: true, output: {} } },
    ]);
  });

  it('gets the instruction to discard text that was not the output', async () => {
    const { events } = await streamEvents(({ emit }) => {
      emit({ type: 'text', text: 'Let me see ' });
      emit({ type: 'reset' });
      emit({ type: 'text', text: 'Nine' });
      return { content: 'Ten', count: 1 };
    }, BODY_WITH_SELECTED_OUTPUTS);
    expect(events.slice(0, -1)).toEqual([
      { blockName, chunk: 'Let me see ' },
      { blockName, event: 'chunk_reset' },
      { blockName, chunk: 'Nine' },
      { blockName, event: 'chunk_reset' },
      { blockName, chunk: 'Ten' },
      { blockName, chunk: '1' },
    ]);
  });

  const emitAll: Behavior = ({ emit }) => {
    emit({ type: 'thinking', text: 'Hm. ' });
    emit({ type: 'tool', phase: 'start', id: 't1', name: 'search' });
    emit({ type: 'progress', id: 't1', progress: 1, total: 3, message: 'a part of the result' });
    emit({ type: 'tool', phase: 'end', id: 't1', name: 'search', status: 'success' });
    emit({ type: 'error', message: 'One source was silent' });
    return { content: 'Done', count: 0 };
  };
  const thinking = { blockName, event: 'thinking', data: 'Hm. ' };
  const toolStart = { blockName, event: 'tool', phase: 'start', id: 't1', name: 'search' };
  const toolProgress = { blockName, event: 'progress', id: 't1', progress: 1, total: 3 };
  const toolEnd = { blockName, event: 'tool', phase: 'end', id: 't1', name: 'search', status: 'success' };
  const streamError = { blockName, event: 'stream_error', error: 'One source was silent' };

  it.each([
    [
      { includeThinking: true, includeToolCalls: true },
      [thinking, toolStart, toolProgress, toolEnd, streamError],
    ],
    [{ includeThinking: true }, [thinking, streamError]],
    [{ includeToolCalls: true }, [toolStart, toolProgress, toolEnd, streamError]],
    [{}, [streamError]],
  ])('gets the requested events with %j', async (body, expected) => {
    expect((await streamEvents(emitAll, body)).events.slice(0, -1)).toEqual(expected);
  });

  it('gets the instruction to discard the text of a failed block', async () => {
    const { events } = await streamEvents(({ emit }) => {
      emit({ type: 'text', text: 'Half a line ' });
      return Promise.reject(new Error('The line is dead.'));
    }, BODY_WITH_SELECTED_OUTPUTS);
    expect(events).toMatchObject([
      { chunk: 'Half a line ' },
      { event: 'chunk_reset' },
      { event: 'final', data: { success: false } },
    ]);
  });

  it('gets no secrets', async () => {
    const { events } = await streamEvents(emitTexts('It is swordfish-1234.'), BODY_WITH_SELECTED_OUTPUTS);
    expect(JSON.stringify(events)).not.toContain('swordfish');
  });
});

it('every other client gets the outputs of blocks when they end', async () => {
  const { protocol, events } = await streamEvents(
    (context) => {
      context.emit({ type: 'thinking', text: 'Hm.' });
      context.emit({ type: 'error', message: 'silent' });
      return emitTexts('Good ', 'morning')(context);
    },
    BODY_WITH_SELECTED_OUTPUTS,
    {},
  );
  expect(protocol).toBeNull();
  expect(events.slice(0, -1)).toEqual([
    { blockName, chunk: 'Good morning' },
    { blockName, chunk: '2' },
  ]);
});
