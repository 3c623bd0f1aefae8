import {
  badRequest,
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  eventStream,
  mayWrite,
  notFound,
  operationFactory,
} from '@heddle/api/areas';
import { refusalOf } from '@heddle/api';
import type { Json } from '@heddle/core';
import type { Span } from '@heddle/core/run';
import * as z from 'zod';
import { logResource } from '../resource.ts';
import type { LogServices } from '../logs.ts';
import type { LogRow } from '../tables.ts';
import { summarizeEvents, receivedEventCount } from './events.ts';
import { hidesInput, hidesOutput } from '../spans.ts';
import { findSpan, pageOfSpans } from './flat-spans.ts';
import { overviewOf } from './overview.ts';
import * as schemas from './schemas.ts';
import { statesOf } from './states.ts';
import { keysOfPointer, pageOfValue, valueAtKeys } from './value-page.ts';

const COMMON_FIELDS = {
  method: 'GET',
  tag: 'Logs',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
  resource: logResource,
  params: schemas.logPath,
  errors: [400, 401, 403, 404, 429],
} as const;

const defineOperation = operationFactory<LogServices>();
const positionCodec = cursorCodec(schemas.spanPosition);

export const getRunOverview = defineOperation({
  ...COMMON_FIELDS,
  id: 'getRunOverview',
  path: '/api/v2/logs/{runId}/overview',
  summary: 'Get the state of a run, its pauses, its child runs and its graph',
  query: z.strictObject({}),
  success: [{ status: 200, schema: schemas.overview, description: 'The run, without values of blocks' }],
  async handle(services, { isHead, principal }, row) {
    if (isHead) return { data: null };
    const mayResume = await mayWrite(services, principal, row.workspace_id);
    const data = await overviewOf(services, row, mayResume);
    if (!data) throw notFound('Log');
    return { data };
  },
});

export const listRunSpans = defineOperation({
  ...COMMON_FIELDS,
  id: 'listRunSpans',
  path: '/api/v2/logs/{runId}/spans',
  summary: 'List the trace spans of a run without their values',
  query: schemas.spansQuery,
  success: [{ status: 200, schema: schemas.span, isPage: true, description: 'A page of spans' }],
  async handle(services, { query, path }, row) {
    const filters = { ...query, runId: path.runId };
    const [offset = 0] = positionCodec.decode(query.cursor, filters) ?? [];
    const root = await readTrace(services, row, { isNextPage: offset > 0 });
    const page = pageOfSpans(root, query, { offset, limit: query.limit });
    if (!page) throw notFound('Span');
    return {
      page: page.spans,
      nextCursor: positionCodec.encode(page.next === undefined ? undefined : [page.next], filters),
    };
  },
});

export const getRunStates = defineOperation({
  ...COMMON_FIELDS,
  id: 'getRunStates',
  path: '/api/v2/logs/{runId}/states',
  summary: 'Count the executions of each block of a run by status',
  query: schemas.statesQuery,
  success: [{ status: 200, schema: schemas.states, description: 'The blocks that have run' }],
  async handle(services, { query }, row) {
    const root = await readTrace(services, row);
    if (!findSpan(root, query.scope)) throw notFound('Span');
    return { data: { status: root.status, blocks: statesOf(root, query.scope) } };
  },
});

export const getRunValue = defineOperation({
  ...COMMON_FIELDS,
  id: 'getRunValue',
  path: '/api/v2/logs/{runId}/value',
  summary: 'Get a part of an input or output of a run',
  query: schemas.valueQuery,
  success: [{ status: 200, schema: schemas.valuePage, description: 'A page of the value' }],
  async handle(services, { query, isHead }, row) {
    if (isHead) return { data: null };
    return { data: pageOfValue(await valueOf(services, row, query), query) };
  },
});

export const downloadRunValue = defineOperation({
  ...COMMON_FIELDS,
  id: 'downloadRunValue',
  path: '/api/v2/logs/{runId}/value/download',
  summary: 'Download an input or output of a run',
  query: schemas.downloadQuery,
  success: [],
  streams: [{ type: '*/*', description: 'The value as JSON text, as an attachment' }],
  async handle(services, { query, isHead }, row) {
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Disposition': `attachment; filename="${query.part}.json"`,
      // If a browser displays the file anyway, it runs no scripts and gives it an opaque origin.
      'Content-Security-Policy': "default-src 'none'; sandbox",
    };
    if (isHead) return { raw: new Response(null, { headers }) };
    const value = await valueOf(services, row, query);
    return { raw: new Response(JSON.stringify(value, null, 2), { headers }) };
  },
});

export const followRun = defineOperation({
  ...COMMON_FIELDS,
  id: 'followRun',
  path: '/api/v2/logs/{runId}/events',
  summary: 'Follow the events of a run without their values',
  query: z.strictObject({}),
  success: [],
  streams: [
    {
      type: 'text/event-stream',
      description:
        'The events after `Last-Event-ID`, past and future, until the run ends or pauses; then `"[DONE]"`',
    },
  ],
  handle(services, { headers, isHead }, row) {
    const receivedCount = receivedEventCount(headers);
    const cancellation = new AbortController();
    const { signal } = cancellation;
    // A HEAD request reads no events.
    const events = isHead ? [] : eventsOf(services, row, { receivedCount, signal });
    const raw = eventStream(toAsync(events), { onCancel: () => cancellation.abort() });
    return Promise.resolve({ raw });
  },
});

async function* toAsync<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item> {
  yield* items;
}

async function* eventsOf(
  { engine, onError }: LogServices,
  { engine_id: engineRunId }: LogRow,
  { receivedCount, signal }: { receivedCount: number; signal: AbortSignal },
): AsyncGenerator<{ id?: number; data: unknown }> {
  try {
    yield* summarizeEvents(engine.follow(engineRunId, { signal }), receivedCount);
  } catch (error) {
    // A refusal is expected if the run was deleted or the process shuts down. Clients then read the run again.
    if (!refusalOf(error)) onError(error);
  }
  yield { data: '[DONE]' };
}

/** Returns the trace of the run. Throws 404 if it was deleted in the meantime. */
async function readTrace(
  services: LogServices,
  row: LogRow,
  options: { isNextPage?: boolean } = {},
): Promise<Span> {
  const root = await services.traces.read(row, options);
  if (!root) throw notFound('Log');
  return root;
}

/** Returns the selected value. Throws 400 for an invalid pointer, 404 if the run does not have the value. */
async function valueOf(
  services: LogServices,
  row: LogRow,
  { spanId, part, path }: { spanId: string; part: 'input' | 'output'; path: string },
): Promise<Json> {
  const keys = keysOfPointer(path);
  if (!keys) throw badRequest('path must be a JSON pointer: empty, or keys with a slash before each');
  const span = findSpan(await readTrace(services, row), spanId);
  if (!span) throw notFound('Span');
  const isHidden = part === 'output' ? hidesOutput(span) : hidesInput(span);
  const storedValue = isHidden ? undefined : span[part];
  const value = storedValue && valueAtKeys(await services.engine.readValue(storedValue), keys);
  if (value === undefined) throw notFound('Value');
  return value;
}
