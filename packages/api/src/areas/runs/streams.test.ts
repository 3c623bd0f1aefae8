import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  FAILING_WORKFLOW,
  GREETING_WORKFLOW,
  LONG_WORKFLOW,
  deployGreeting,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';

const api = await createTestApi();
const { call, fetch } = api;

describe('JSON lines', () => {
  it('begin with a heartbeat and end with the result', async () => {
    const path = await deployGreeting(api);
    const headers = { Accept: 'application/x-ndjson' };
    const response = await fetch('POST', `${path}/execute`, { headers, body: { input: { name: 'Ada' } } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(response.headers.get('vary')).toBe('Accept');
    const lines = (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(lines[0]).toMatchObject({ type: 'heartbeat', timestamp: expect.any(String) });
    expect(lines.at(-1)).toMatchObject({
      type: 'final',
      data: {
        runId: response.headers.get('x-run-id'),
        status: 'completed',
        output: { data: { hello: 'Ada' } },
      },
    });
  });

  it('contain heartbeats during the run; the run is cancelled when the client disconnects', async () => {
    const timerCallbacks: (() => void)[] = [];
    const heartbeatApi = await createTestApi({
      repeat: (_ms, callback) => (timerCallbacks.push(callback), () => undefined),
    });
    const id = await heartbeatApi.deploy(LONG_WORKFLOW);
    const headers = { Accept: 'application/x-ndjson' };
    const response = await heartbeatApi.fetch('POST', `/api/v2/workflows/${id}/execute`, {
      headers,
      body: {},
    });
    for (const callback of timerCallbacks) callback();
    const reader = response.body!.getReader();
    const read = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
    expect([await read(), await read()].map((text) => (JSON.parse(text) as { type: string }).type)).toEqual([
      'heartbeat',
      'heartbeat',
    ]);
    await reader.cancel();
    const path = `/api/v2/workflows/${id}/runs/${response.headers.get('x-run-id')}`;
    await expect
      .poll(async () => (await heartbeatApi.call<RunResponse>('GET', path)).data.status)
      .toBe('cancelled');
  });

  it.each([
    ['Application/X-NDJSON', true],
    ['application/json, application/x-ndjson;q=0.5', true],
    ['application/x-ndjson;q=0', false],
    ['application/x-ndjson-other', false],
    ['*/*', false],
  ])('are sent for Accept %s: %s', async (accept, isNdjson) => {
    const path = await deployGreeting(api);
    const response = await fetch('POST', `${path}/execute`, { headers: { Accept: accept }, body: {} });
    expect(response.headers.get('content-type')?.includes('ndjson')).toBe(isNdjson);
    await response.body?.cancel();
  });

  it('are replaced by a plain JSON error when the run is refused', async () => {
    const id = await api.createDraft(GREETING_WORKFLOW);
    const headers = { Accept: 'application/x-ndjson' };
    const response = await call('POST', `/api/v2/workflows/${id}/execute`, { headers, body: {} });
    expect(response).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } });
  });
});

describe('server-sent events', () => {
  async function streamEvents(id: string, body: object): Promise<unknown[]> {
    const response = await fetch('POST', `/api/v2/workflows/${id}/execute`, {
      body: { stream: true, ...body },
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-run-id')).toMatch(/./);
    const text = await response.text();
    return text
      .trim()
      .split('\n\n')
      .map((message) => JSON.parse(message.replace(/^data: /, '')) as unknown);
  }

  it('end with the output and "[DONE]"', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    expect(await streamEvents(id, { input: { name: 'Ada' } })).toEqual([
      {
        event: 'final',
        data: { success: true, output: expect.objectContaining({ data: { hello: 'Ada' } }) },
      },
      '[DONE]',
    ]);
  });

  it('have each selected value once: as a chunk or in the last event', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const body = { input: { name: 'Ada' }, selectedOutputs: ['Reply.data', 'Start.name'] };
    const allEvents = await streamEvents(id, body);
    const text = JSON.stringify(allEvents);
    expect(text.match(/hello/g)).toHaveLength(1);
    expect(allEvents.at(-1)).toBe('[DONE]');
    expect(allEvents.at(-2)).toMatchObject({ event: 'final', data: { success: true } });
  });

  it('report a failed run, a paused run and a timeout', async () => {
    const failedEvents = await streamEvents(await api.deploy(FAILING_WORKFLOW), {});
    expect(failedEvents).toMatchObject([
      { event: 'final', data: { success: false, error: expect.any(String) } },
      '[DONE]',
    ]);
    const pausedEvents = await streamEvents(await api.deploy(APPROVAL_WORKFLOW), {});
    expect(pausedEvents).toMatchObject([
      { event: 'final', data: { success: true, status: 'paused' } },
      '[DONE]',
    ]);
    const limitedApi = await createTestApi({ timeouts: { syncSeconds: 0.05 } });
    const id = await limitedApi.deploy(LONG_WORKFLOW);
    const response = await limitedApi.fetch('POST', `/api/v2/workflows/${id}/execute`, {
      body: { stream: true },
    });
    expect(await response.text()).toMatch(
      /^data: \{"event":"error","error":"[^"]+"\}\n\ndata: "\[DONE\]"\n\n$/,
    );
  });
});
