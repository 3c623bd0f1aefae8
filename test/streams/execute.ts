import { expect } from 'vitest';
import type { TestApi } from '../support/api.ts';
import type { ScriptedExecutor } from '../support/scripted-executor.ts';
import { block, loop, workflow } from '../support/workflow.ts';
import { REDACTED, SECRET } from './secret.ts';

/** A workflow whose block A runs twice and can read the secret. */
const LOOP_WORKFLOW = workflow(
  [loop('Each', { loopType: 'for', count: 2 }, block('A', 'work', { key: '{{KEY}}' }))],
  ['Start -> Each -> A'],
);

/** Yields the data of each server-sent event, without its `blockId`. */
export async function* readSseData(response: Response): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = JSON.parse(event.replace(/^data: /, '')) as unknown;
      if (typeof data !== 'object' || data === null) yield data;
      else yield Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'blockId'));
    }
  }
}

/** Expects that a streamed execution sends the text of a block while the block runs, with the secret redacted. */
export async function expectStreamed(api: TestApi, scriptedExecutor: ScriptedExecutor): Promise<void> {
  const id = await api.deploy(LOOP_WORKFLOW);
  const response = await api.fetch('POST', `/api/v2/workflows/${id}/execute`, {
    headers: { 'X-Sim-Stream-Protocol': 'agent-events-v1' },
    body: { stream: true, selectedOutputs: ['A.content'], includeToolCalls: true },
  });
  expect(response.headers.get('x-sim-stream-protocol')).toBe('agent-events-v1');
  const events = readSseData(response);
  const nextEvent = async (): Promise<unknown> => (await events.next()).value;

  const firstCall = await scriptedExecutor.nextCall('A.0');
  firstCall.context.emit({ type: 'text', text: 'Good ' });
  expect(await nextEvent()).toEqual({ chunk: 'Good ' });
  for (const text of [SECRET.slice(0, 7), SECRET.slice(7), '.'])
    firstCall.context.emit({ type: 'text', text });
  firstCall.complete({ content: `Good ${SECRET}.` });

  const secondCall = await scriptedExecutor.nextCall('A.1');
  secondCall.context.emit({ type: 'text', text: 'Hm. ' });
  secondCall.context.emit({ type: 'tool', phase: 'start', id: '1', name: 'search' });
  secondCall.context.emit({ type: 'reset' });
  secondCall.context.emit({ type: 'text', text: 'Bye.' });
  secondCall.complete({ content: 'Bye.' });

  const laterEvents: unknown[] = [];
  for await (const event of events) laterEvents.push(event);
  const chunks = laterEvents.flatMap((event) => (isChunk(event) ? [event.chunk] : []));
  expect(chunks.join('')).toBe(`${REDACTED}.Hm. Good ${REDACTED}.Bye.`);
  expect(laterEvents.filter((event) => !isChunk(event))).toEqual([
    { event: 'tool', phase: 'start', id: '1', name: 'search' },
    { event: 'chunk_reset' },
    { event: 'final', data: { success: true, output: {} } },
    '[DONE]',
  ]);
  expect(api.reportedErrors).toEqual([]);
}

function isChunk(event: unknown): event is { chunk: string } {
  return typeof event === 'object' && event !== null && 'chunk' in event;
}
