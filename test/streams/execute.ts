import { expect } from 'vitest';
import type { TestApi } from '../support/api.ts';
import type { Script } from '../support/script.ts';
import { block, loop, workflow } from '../support/workflow.ts';
import { REDACTED, SECRET } from './secret.ts';

/** A workflow whose block A runs twice and can read the secret. */
const LOOP_WORKFLOW = workflow(
  [loop('Each', { loopType: 'for', count: 2 }, block('A', 'work', { key: '{{KEY}}' }))],
  ['Start -> Each -> A'],
);

/** Yields the data of each server-sent event, without its `blockId`. */
export async function* framesOf(response: Response): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const data = JSON.parse(frame.replace(/^data: /, '')) as unknown;
      if (typeof data !== 'object' || data === null) yield data;
      else yield Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'blockId'));
    }
  }
}

/** Expects that a streamed execution sends the text of a block while the block runs, with the secret redacted. */
export async function expectStreamed(api: TestApi, script: Script): Promise<void> {
  const id = await api.deploy(LOOP_WORKFLOW);
  const response = await api.fetch('POST', `/api/v2/workflows/${id}/execute`, {
    headers: { 'X-Sim-Stream-Protocol': 'agent-events-v1' },
    body: { stream: true, selectedOutputs: ['A.content'], includeToolCalls: true },
  });
  expect(response.headers.get('x-sim-stream-protocol')).toBe('agent-events-v1');
  const frames = framesOf(response);
  const next = async (): Promise<unknown> => (await frames.next()).value;

  const first = await script.nextCall('A.0');
  first.context.emit({ type: 'text', text: 'Good ' });
  expect(await next()).toEqual({ chunk: 'Good ' });
  for (const text of [SECRET.slice(0, 7), SECRET.slice(7), '.']) first.context.emit({ type: 'text', text });
  first.done({ content: `Good ${SECRET}.` });

  const second = await script.nextCall('A.1');
  second.context.emit({ type: 'text', text: 'Hm. ' });
  second.context.emit({ type: 'tool', phase: 'start', id: '1', name: 'search' });
  second.context.emit({ type: 'reset' });
  second.context.emit({ type: 'text', text: 'Bye.' });
  second.done({ content: 'Bye.' });

  const laterFrames: unknown[] = [];
  for await (const frame of frames) laterFrames.push(frame);
  const text = laterFrames.flatMap((frame) => (isChunk(frame) ? [frame.chunk] : []));
  expect(text.join('')).toBe(`${REDACTED}.Hm. Good ${REDACTED}.Bye.`);
  expect(laterFrames.filter((frame) => !isChunk(frame))).toEqual([
    { event: 'tool', phase: 'start', id: '1', name: 'search' },
    { event: 'chunk_reset' },
    { event: 'final', data: { success: true, output: {} } },
    '[DONE]',
  ]);
  expect(api.faults).toEqual([]);
}

function isChunk(frame: unknown): frame is { chunk: string } {
  return typeof frame === 'object' && frame !== null && 'chunk' in frame;
}
