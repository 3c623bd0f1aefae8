import { describe, expect, it } from 'vitest';
import { createTalkExecutor } from '../../../../../test/streams/talk.ts';
import { createTestApi } from '../../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  FAILING_WORKFLOW,
  GREETING_WORKFLOW,
  LONG_WORKFLOW,
  waitForStatus,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';
import { block, loop, workflow } from '../../../../../test/support/workflow.ts';

const api = await createTestApi();
const { call, fetch } = api;

interface LegacyEvent {
  type: string;
  eventId?: number | string;
  executionId: string;
  workflowId: string;
  data: { blockName?: string; iterationType?: string; iterationCurrent?: number };
}

/** Returns the events of an ended stream. */
function eventsIn(text: string): LegacyEvent[] {
  const messages = text.split('\n\n').filter((message) => !message.startsWith(':') && message !== '');
  expect(messages.at(-1)).toBe('data: "[DONE]"');
  return messages.slice(0, -1).map((message) => {
    const { id, data } = /^(?:id: (?<id>[\d.]+)\n)?data: (?<data>.*)$/.exec(message)?.groups ?? {};
    const event = JSON.parse(data ?? '') as LegacyEvent;
    expect(event.eventId).toBe(id?.includes('.') === true ? id : id && Number(id));
    return event;
  });
}

async function runWorkflow(
  definition: Parameters<typeof api.deploy>[0],
): Promise<{ path: string; runId: string; id: string }> {
  const id = await api.deploy(definition);
  const { data } = await call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
  return { path: `/api/workflows/${id}/executions/${data.runId}/stream`, runId: data.runId, id };
}

async function follow(path: string, headers: { [name: string]: string } = {}): Promise<LegacyEvent[]> {
  const response = await fetch('GET', path, { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  return eventsIn(await response.text());
}

describe('an execution stream', () => {
  it('sends all events from the beginning, in order', async () => {
    const { path, runId, id } = await runWorkflow(GREETING_WORKFLOW);
    const events = await follow(path);
    expect(events.map(({ type, data }) => `${type} ${data.blockName ?? ''}`.trim())).toEqual([
      'execution:started',
      'block:started Start',
      'block:completed Start',
      'block:started Words',
      'block:completed Words',
      'block:started Reply',
      'block:completed Reply',
      'execution:completed',
    ]);
    expect(events[0]).toMatchObject({ executionId: runId, workflowId: id, eventId: 1 });
    expect(events.at(-1)).toMatchObject({ data: { success: true, output: { data: { hello: 'nobody' } } } });
    expect(events[2]).toMatchObject({ data: { executionOrder: 1, output: { name: 'nobody' } } });
  });

  it('continues after the last event that the client received', async () => {
    const { path } = await runWorkflow(GREETING_WORKFLOW);
    const allEvents = await follow(path);
    const lastId = Number(allEvents.at(-3)?.eventId);
    expect(await follow(`${path}?from=${lastId}`)).toEqual(allEvents.slice(-2));
    expect(await follow(path, { 'Last-Event-ID': String(lastId) })).toEqual(allEvents.slice(-2));
    expect(await follow(`${path}?from=1000`)).toEqual([]);
    expect((await call('GET', `${path}?from=-1`)).status).toBe(400);
    expect((await call('GET', path, { headers: { 'Last-Event-ID': 'x' } })).status).toBe(400);
  });

  it('ends with an error, or with a pause that needs a person', async () => {
    const lastEvents = (await follow((await runWorkflow(FAILING_WORKFLOW)).path)).slice(-2);
    expect(lastEvents).toMatchObject([
      { type: 'block:error', data: { blockName: 'Fetch', error: expect.stringContaining('127.0.0.1') } },
      { type: 'execution:error', data: { error: expect.any(String) } },
    ]);
    const lastEvent = (await follow((await runWorkflow(APPROVAL_WORKFLOW)).path)).at(-1);
    expect(lastEvent).toMatchObject({
      type: 'execution:paused',
      data: { pauseKind: 'human', pausePoints: 1 },
    });
    expect(lastEvent).not.toHaveProperty('eventId');
  });

  it('sends events while the execution runs', async () => {
    const id = await api.deploy(LONG_WORKFLOW);
    const workflowPath = `/api/v2/workflows/${id}`;
    const { data } = await call<RunResponse>('POST', `${workflowPath}/execute`, { body: { async: true } });
    await waitForStatus(api, `${workflowPath}/runs/${data.runId}`, 'paused');
    const events = follow(`/api/workflows/${id}/executions/${data.runId}/stream`);
    await call('POST', `${workflowPath}/runs/${data.runId}/cancel`);
    expect((await events).at(-1)).toMatchObject({ type: 'execution:cancelled' });
  });

  it('names the container and the iteration of a block', async () => {
    const container = loop('Twice', { loopType: 'for', count: 2 }, block('Words', 'variables', {}));
    const events = await follow(
      (await runWorkflow(workflow([container], ['Start -> Twice', 'Twice -> Words']))).path,
    );
    const startEvents = events.filter(
      ({ type, data }) => type === 'block:started' && data.blockName === 'Words',
    );
    expect(startEvents.map(({ data }) => [data.iterationType, data.iterationCurrent])).toEqual([
      ['loop', 0],
      ['loop', 1],
    ]);
  });

  it('returns 404 for an unknown execution', async () => {
    const { id } = await runWorkflow(GREETING_WORKFLOW);
    expect(await call('GET', `/api/workflows/${id}/executions/nothing/stream`)).toMatchObject({
      status: 404,
    });
  });

  it('does not cancel the execution when the client disconnects', async () => {
    const id = await api.deploy(LONG_WORKFLOW);
    const workflowPath = `/api/v2/workflows/${id}`;
    const { data } = await call<RunResponse>('POST', `${workflowPath}/execute`, { body: { async: true } });
    await waitForStatus(api, `${workflowPath}/runs/${data.runId}`, 'paused');
    const path = `/api/workflows/${id}/executions/${data.runId}/stream`;
    expect((await fetch('HEAD', path)).status).toBe(200);
    await (await fetch('GET', path)).body?.cancel();
    expect(await call('GET', `${workflowPath}/runs/${data.runId}`)).toMatchObject({
      data: { status: 'paused' },
    });
  });
});

it('an execution is streamed when a header requests it', async () => {
  const id = await api.deploy(GREETING_WORKFLOW);
  const path = `/api/workflows/${id}/execute`;
  const response = await fetch('POST', path, { body: {}, headers: { 'X-Stream-Response': 'true' } });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(await response.text()).toContain('"event":"final"');
  const conflictingHeaders = { 'X-Stream-Response': 'true', 'X-Execution-Mode': 'async' };
  expect((await fetch('POST', path, { body: {}, headers: conflictingHeaders })).status).toBe(400);
});

describe('an execution stream of blocks that emit text', () => {
  it('has the text between the start and the end of its block, and resumes after each event', async () => {
    const talkApi = await createTestApi({ engineOptions: { blocks: [createTalkExecutor()] } });
    const id = await talkApi.deploy(workflow([block('T', 'talk'), block('Z', 'talk')], ['Start -> T -> Z']));
    const { data } = await talkApi.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    const path = `/api/workflows/${id}/executions/${data.runId}/stream`;
    const readEvents = async (headers: { [name: string]: string } = {}): Promise<LegacyEvent[]> =>
      eventsIn(await (await talkApi.fetch('GET', path, { headers })).text());
    const allEvents = await readEvents();
    const idsAndTypes = allEvents.map(({ type, eventId }) => `${eventId} ${type}`);
    expect(idsAndTypes).toEqual([
      '1 execution:started',
      '2 block:started',
      '3 block:completed',
      '4 block:started',
      ...['4.1 stream:chunk', '4.2 stream:chunk', '4.3 stream:chunk', '4.4 stream:chunk'],
      '5.4 block:completed',
      '6.4 block:started',
      ...['6.5 stream:chunk', '6.6 stream:chunk', '6.7 stream:chunk', '6.8 stream:chunk'],
      '7.8 block:completed',
      '8.8 execution:completed',
    ]);
    for (const [index, { eventId }] of allEvents.entries())
      expect(await readEvents({ 'Last-Event-ID': String(eventId) })).toEqual(allEvents.slice(index + 1));
    const unauthorizedResponse = await talkApi.fetch('GET', path, {
      key: 'another',
      headers: { 'Last-Event-ID': '4.1' },
    });
    expect(unauthorizedResponse.status).toBe(401);
    for (const malformedId of ['4.', '.4', '4.1.1', '4,1', '9'.repeat(20)])
      expect((await talkApi.fetch('GET', path, { headers: { 'Last-Event-ID': malformedId } })).status).toBe(
        400,
      );
  });

  it('is not readable from another workspace, even with a Last-Event-ID', async () => {
    const talkApi = await createTestApi({ engineOptions: { blocks: [createTalkExecutor()] } });
    const id = await talkApi.deploy(workflow([block('T', 'talk')], ['Start -> T']));
    const { data } = await talkApi.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    const { store } = talkApi;
    const otherUser = await store.workspaces.createUser({ email: 'eve@heddle.test', name: 'Eve' });
    await store.workspaces.createWorkspace('Shuttles', otherUser);
    const { key } = await store.keys.create({ userId: otherUser }, 'test');
    const path = `/api/workflows/${id}/executions/${data.runId}/stream`;
    const response = await talkApi.fetch('GET', path, { key, headers: { 'Last-Event-ID': '4.1' } });
    expect([403, 404]).toContain(response.status);
    expect(await response.text()).not.toContain('Once');
  });
});
