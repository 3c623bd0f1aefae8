import * as z from 'zod';
import type { Json } from '@heddle/core';
import type { RunDetail, RunEvent } from '@heddle/engine';
import type { AreaContext } from '../../context.ts';
import { AUTHENTICATED_PRINCIPALS } from '../../auth/principal.ts';
import { badRequest, notFound, refusalOf } from '../../errors.ts';
import { eventStream } from '../../http/stream.ts';
import type { ServerSentEvent } from '../../http/stream.ts';
import { operationFactory } from '../../operation.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { findRun } from '../runs/find.ts';
import type { RunIds } from '../runs/ids.ts';
import { progressOf } from '../runs/output-events.ts';
import { executionPath } from './schemas.ts';

export const streamExecution = operationFactory<AreaContext>()({
  id: 'streamExecution',
  method: 'GET',
  path: '/api/workflows/{workflowId}/executions/{executionId}/stream',
  tag: 'Legacy API',
  summary: 'Follow an execution, from its beginning or after an event',
  legacy: true,
  principals: AUTHENTICATED_PRINCIPALS,
  resource: workflowResource,
  scope: 'api:read',
  role: 'read',
  params: executionPath,
  query: z.strictObject({ from: z.int().min(0).optional() }),
  success: [],
  streams: [
    {
      type: 'text/event-stream',
      description: 'The events after the event `from`, past and future, until the run ends or pauses',
    },
  ],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query, headers }, workflow) {
    const { run, engineRunId, runId } = await findRun(services, workflow, path.executionId);
    // A queued run has no events yet.
    if (!run) throw notFound('Execution');
    const receivedCounts =
      query.from === undefined ? parseReceivedCounts(headers) : { events: query.from, emissions: 0 };
    const cancellation = new AbortController();
    const events = eventsAfter(services, { ...run, engineRunId, runId }, receivedCounts, cancellation.signal);
    return { raw: eventStream(events, { onCancel: () => cancellation.abort() }) };
  },
});

type FollowedRun = RunIds & Pick<RunDetail, 'workflowId'>;

/** How many events a client has received: journal events, and emissions of blocks. */
interface ReceivedCounts {
  events: number;
  emissions: number;
}

/** Returns how many events a reconnecting client has received. */
function parseReceivedCounts(headers: Headers): ReceivedCounts {
  const id = headers.get('last-event-id') ?? '0';
  const match = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id);
  if (match) return { events: Number(match[1]), emissions: Number(match[2] ?? 0) };
  throw badRequest('Last-Event-ID must be the id of an event: a whole number, or two separated by a dot');
}

/**
 * Returns the id of the last received event: the number of events, and after a dot the number of emissions if there are
 * any.
 */
function eventIdOf({ events, emissions }: ReceivedCounts): number | string {
  return emissions === 0 ? events : `${events}.${emissions}`;
}

async function* eventsAfter(
  services: AreaContext,
  run: FollowedRun,
  receivedCounts: ReceivedCounts,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  try {
    const events = services.engine.follow(run.engineRunId, { signal });
    for await (const [id, event] of unreadEvents(events, receivedCounts)) {
      const data = toLegacyEvent(event, run);
      if (!data) continue;
      if (id === undefined) yield { data };
      else yield { id, data: { ...data, eventId: id } };
    }
  } catch (error) {
    // A shutdown of this process is not an error: clients reconnect to another process.
    if (!refusalOf(error)) services.onError(error);
  }
  yield { data: '[DONE]' };
}

/**
 * Returns the events that the client has not received, with their ids. The order of emissions among other events may
 * differ between two readers, so an id counts both kinds. Pauses and resumes have no id: only clients that are
 * connected when they happen get them.
 */
async function* unreadEvents(
  events: AsyncIterable<RunEvent>,
  receivedCounts: ReceivedCounts,
): AsyncGenerator<[id: number | string | undefined, event: RunEvent]> {
  let count = 0;
  const counts = { ...receivedCounts };
  for await (const event of events) {
    if (event.type === 'run:paused' || event.type === 'run:resumed') {
      yield [undefined, event];
    } else if (event.type === 'block:emission') {
      if (event.number <= receivedCounts.emissions) continue;
      counts.emissions = event.number;
      yield [eventIdOf(counts), event];
    } else {
      count += 1;
      if (count <= receivedCounts.events) continue;
      counts.events = count;
      yield [eventIdOf(counts), event];
    }
  }
}

/** Returns the event in the format of the legacy API; undefined for an event that this format lacks. */
function toLegacyEvent(event: RunEvent, { workflowId, runId }: Pick<RunDetail, 'workflowId' | 'runId'>) {
  const typeAndData = typeAndDataOf(event);
  if (!typeAndData) return undefined;
  const [type, data] = typeAndData;
  const timestamp = new Date(event.atMs).toISOString();
  return { type, timestamp, executionId: runId, workflowId, data };
}

type Fields = { [name: string]: unknown };
type BlockEvent = Extract<RunEvent, { log: unknown }>;

function typeAndDataOf(event: RunEvent): [type: string, data: Fields] | undefined {
  switch (event.type) {
    case 'run:started':
      return ['execution:started', { startTime: new Date(event.atMs).toISOString() }];
    case 'run:paused':
      return ['execution:paused', { pauseKind: event.kind, pausePoints: event.pauses.length }];
    case 'run:ended':
      return runEndOf(event);
    case 'block:started':
      return ['block:started', blockFieldsOf(event)];
    case 'block:completed':
      return ['block:completed', { ...blockFieldsOf(event), ...timeFieldsOf(event), output: event.output }];
    case 'block:failed':
    case 'block:cancelled':
      return [
        'block:error',
        { ...blockFieldsOf(event), ...timeFieldsOf(event), error: failureMessageOf(event) },
      ];
    case 'block:emission':
      return emissionOf(event);
    default:
      return undefined;
  }
}

/** Returns the event of an emission. Omits the arguments and results of tools. */
function emissionOf({ blockId, emission }: Extract<RunEvent, { type: 'block:emission' }>): [string, Fields] {
  switch (emission.type) {
    case 'text':
      return ['stream:chunk', { blockId, chunk: emission.text }];
    case 'reset':
      return ['stream:chunk_reset', { blockId }];
    case 'thinking':
      return ['stream:thinking', { blockId, data: emission.text }];
    case 'error':
      return ['stream:error', { blockId, error: emission.message }];
    case 'progress':
      return ['stream:progress', { blockId, ...progressOf(emission) }];
    case 'tool': {
      const { phase, id, name } = emission;
      const status = emission.phase === 'end' ? { status: emission.status } : {};
      return ['stream:tool', { blockId, phase, id, name, ...status }];
    }
  }
}

function runEndOf({ status, output, error }: Extract<RunEvent, { type: 'run:ended' }>): [string, Fields] {
  if (status === 'completed') return ['execution:completed', { success: true, output }];
  if (status === 'cancelled') return ['execution:cancelled', {}];
  return ['execution:error', { error: error?.message ?? 'The run failed.', output }];
}

function blockFieldsOf({ log }: BlockEvent): Fields {
  const { blockId, blockName, blockType, executionOrder, container } = log;
  const iterationFields = container && {
    iterationType: container.kind,
    iterationContainerId: container.blockId,
    iterationCurrent: container.index,
  };
  return { blockId, blockName, blockType, executionOrder, ...iterationFields };
}

function timeFieldsOf({ log }: BlockEvent): Fields {
  const { startedMs, endedMs, durationMs } = log;
  const endedAt = endedMs === undefined ? null : new Date(endedMs).toISOString();
  return { startedAt: new Date(startedMs).toISOString(), endedAt, durationMs: durationMs ?? null };
}

function failureMessageOf({ log }: BlockEvent): Json {
  return log.error?.message ?? 'The block was cancelled.';
}
