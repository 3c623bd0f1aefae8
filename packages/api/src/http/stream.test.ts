import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../test/support/api.ts';
import { LONG_WORKFLOW, waitForStatus } from '../../../../test/support/api-workflows.ts';
import { SERVED_OPERATIONS } from '../../../../test/support/served-operations.ts';
import { eventStream, ndjsonResponse, withEndCallback } from './stream.ts';

/** Returns endless items, and a function that returns how many of them were read. */
function createCountedItems(): { items: AsyncIterable<{ data: number }>; readCount: () => number } {
  let readCount = 0;
  async function* items(): AsyncGenerator<{ data: number }> {
    for (;;) {
      await Promise.resolve();
      yield { data: (readCount += 1) };
    }
  }
  return { items: items(), readCount: () => readCount };
}

const noop = (): void => undefined;

describe('a stream', () => {
  it('reads an item only when the client has taken the previous one', async () => {
    const { items, readCount } = createCountedItems();
    const reader = eventStream(items, { onCancel: noop }).body!.getReader();
    expect(readCount()).toBe(0);
    for (const count of [1, 2, 3]) {
      expect(new TextDecoder().decode((await reader.read()).value)).toBe(`data: ${count}\n\n`);
      expect(readCount()).toBe(count);
    }
    await reader.cancel();
  });

  it('ends a waiting source when the client cancels', async () => {
    const startSignal = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let isFinished = false;
    async function* items(): AsyncGenerator<object> {
      try {
        startSignal.resolve();
        await gate.promise;
        yield {};
      } finally {
        isFinished = true;
      }
    }
    const reader = ndjsonResponse(items(), { onCancel: gate.resolve }).body!.getReader();
    const pendingRead = reader.read();
    await startSignal.promise;
    await reader.cancel();
    expect(await pendingRead).toMatchObject({ done: true });
    await expect.poll(() => isFinished).toBe(true);
  });

  it.each([
    ['is read', (response: Response) => response.text()],
    ['is cancelled', (response: Response) => response.body?.cancel()],
  ])('calls `onEnd` once when it %s', async (_ending, end) => {
    let endCount = 0;
    const response = withEndCallback(new Response('text'), () => (endCount += 1));
    expect(endCount).toBe(0);
    await end(response);
    expect(endCount).toBe(1);
  });

  it('calls `onEnd` when it fails', async () => {
    let endCount = 0;
    async function* items(): AsyncGenerator<object> {
      yield await Promise.reject(new Error('It is down.'));
    }
    const response = withEndCallback(ndjsonResponse(items(), { onCancel: noop }), () => (endCount += 1));
    await expect(response.text()).rejects.toThrow('It is down.');
    expect(endCount).toBe(1);
  });
});

/** Whether each stream of the API has heartbeats. */
const HAS_HEARTBEATS: { [stream: string]: boolean } = {
  'executeWorkflowV2 text/event-stream': false,
  'executeWorkflowV2 application/x-ndjson': true,
  'executeWorkflow text/event-stream': false,
  'streamExecution text/event-stream': false,
  'followRun text/event-stream': false,
};

describe('heartbeats', () => {
  const callbacks: (() => void)[] = [];
  const repeat = (_ms: number, callback: () => void) => (callbacks.push(callback), noop);

  it('are declared in this test for each stream of an operation', () => {
    const streams = SERVED_OPERATIONS.flatMap(({ id, streams: types = [] }) =>
      types.filter(({ type }) => type !== '*/*').map(({ type }) => `${id} ${type}`),
    );
    expect(Object.keys(HAS_HEARTBEATS).toSorted()).toEqual(streams.toSorted());
  });

  it.each(Object.entries(HAS_HEARTBEATS))(
    'of the stream "%s" are sent: %s',
    async (stream, hasHeartbeats) => {
      const api = await createTestApi({ repeat });
      const id = await api.deploy(LONG_WORKFLOW);
      const runsPath = `/api/v2/workflows/${id}/runs`;
      const startPausedRun = async (): Promise<string> => {
        const path = `/api/v2/workflows/${id}/execute`;
        const { data } = await api.call<{ runId: string }>('POST', path, { body: { async: true } });
        await waitForStatus(api, `${runsPath}/${data.runId}`, 'paused');
        return data.runId;
      };
      const openers: { [stream: string]: () => Promise<Response> } = {
        'executeWorkflowV2 text/event-stream': () =>
          api.fetch('POST', `/api/v2/workflows/${id}/execute`, { body: { stream: true } }),
        'executeWorkflowV2 application/x-ndjson': () =>
          api.fetch('POST', `/api/v2/workflows/${id}/execute`, {
            body: {},
            headers: { Accept: 'application/x-ndjson' },
          }),
        'executeWorkflow text/event-stream': () =>
          api.fetch('POST', `/api/workflows/${id}/execute`, { body: { stream: true } }),
        'streamExecution text/event-stream': async () =>
          api.fetch('GET', `/api/workflows/${id}/executions/${await startPausedRun()}/stream`),
        'followRun text/event-stream': async () =>
          api.fetch('GET', `/api/v2/logs/${await startPausedRun()}/events`),
      };
      const text = (await openers[stream]!()).text();
      const listRuns = async () =>
        (await api.call<{ runId: string; status: string }[]>('GET', runsPath)).data;
      await expect.poll(async () => (await listRuns()).map(({ status }) => status)).toEqual(['paused']);
      for (const callback of callbacks.splice(0)) callback();
      await new Promise((resolve) => setImmediate(resolve));
      const [run] = await listRuns();
      await api.call('POST', `${runsPath}/${run?.runId}/cancel`);
      const lines = (await text).trim().split('\n');
      expect(lines.filter((line) => line.includes('"heartbeat"'))).toHaveLength(hasHeartbeats ? 2 : 0);
      // In server-sent events, heartbeats are comments, which begin with a colon.
      expect(lines.filter((line) => line.startsWith(':'))).toEqual([]);
    },
  );
});
