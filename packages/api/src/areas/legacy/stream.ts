import * as z from 'zod';
import type { Json } from '@heddle/core';
import type { RunDetail, RunEvent } from '@heddle/engine';
import type { AreaContext } from '../../context.ts';
import { EVERYONE } from '../../auth/principal.ts';
import { badRequest, notFound, refusalOf } from '../../errors.ts';
import { eventStream } from '../../http/stream.ts';
import type { ServerSentEvent } from '../../http/stream.ts';
import { operationsOf } from '../../operation.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { findRun } from '../runs/find.ts';
import type { RunIds } from '../runs/ids.ts';
import { executionPath } from './schemas.ts';

export const streamExecution = operationsOf<AreaContext>()({
  id: 'streamExecution',
  method: 'GET',
  path: '/api/workflows/{workflowId}/executions/{executionId}/stream',
  tag: 'Older interface',
  summary: 'Follow an execution, from its beginning or from an event on',
  legacy: true,
  principals: EVERYONE,
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
    const found = await findRun(services, workflow, path.executionId);
    const { run, engineId, runId } = found;
    // A queued run has no events yet.
    if (!run) throw notFound('Execution');
    const after = query.from ?? lastEventId(headers);
    const cancellation = new AbortController();
    const events = eventsAfter(services, { ...run, engineId, runId }, after, cancellation.signal);
    return { raw: eventStream(events, { onCancel: () => cancellation.abort() }) };
  },
});

type FollowedRun = RunIds & Pick<RunDetail, 'workflowId'>;

/** Returns the last event that a reconnecting client has received. */
function lastEventId(headers: Headers): number {
  const given = headers.get('last-event-id') ?? '0';
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw badRequest('Last-Event-ID is the id of an event: a whole number');
}

async function* eventsAfter(
  services: AreaContext,
  run: FollowedRun,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  try {
    for await (const [id, event] of numbered(services.engine.follow(run.engineId, { signal }))) {
      const data = legacyEvent(event, run);
      if (!data) continue;
      if (id === undefined) yield { data };
      else if (id > after) yield { id, data: { ...data, eventId: id } };
    }
  } catch (error) {
    // A process that shuts down is no error: clients reconnect to another one.
    if (!refusalOf(error)) services.report(error);
  }
  yield { data: '[DONE]' };
}

/** Numbers the events from 1 on, the same each time. Pauses and resumes have no number: only current readers get them. */
async function* numbered(
  events: AsyncIterable<RunEvent>,
): AsyncGenerator<[id: number | undefined, event: RunEvent]> {
  let id = 0;
  for await (const event of events) {
    const isTransient = event.type === 'run:paused' || event.type === 'run:resumed';
    yield isTransient ? [undefined, event] : [(id += 1), event];
  }
}

/** Returns the event in the format of the older interface; undefined for an event that it does not have. */
function legacyEvent(event: RunEvent, { workflowId, runId }: Pick<RunDetail, 'workflowId' | 'runId'>) {
  const typed = typeAndDataOf(event);
  if (!typed) return undefined;
  const [type, data] = typed;
  const timestamp = new Date(event.atMs).toISOString();
  return { type, timestamp, executionId: runId, workflowId, data };
}

type Data = { [name: string]: unknown };
type BlockEvent = Extract<RunEvent, { log: unknown }>;

function typeAndDataOf(event: RunEvent): [type: string, data: Data] | undefined {
  switch (event.type) {
    case 'run:started':
      return ['execution:started', { startTime: new Date(event.atMs).toISOString() }];
    case 'run:paused':
      return ['execution:paused', { pauseKind: event.kind, pausePoints: event.pauses.length }];
    case 'run:ended':
      return endOf(event);
    case 'block:started':
      return ['block:started', blockOf(event)];
    case 'block:completed':
      return ['block:completed', { ...blockOf(event), ...endedOf(event), output: event.output }];
    case 'block:failed':
    case 'block:cancelled':
      return ['block:error', { ...blockOf(event), ...endedOf(event), error: failureOf(event) }];
    default:
      return undefined;
  }
}

function endOf({ status, output, error }: Extract<RunEvent, { type: 'run:ended' }>): [string, Data] {
  if (status === 'completed') return ['execution:completed', { success: true, output }];
  if (status === 'cancelled') return ['execution:cancelled', {}];
  return ['execution:error', { error: error?.message ?? 'The run failed.', output }];
}

function blockOf({ log }: BlockEvent): Data {
  const { blockId, blockName, blockType, executionOrder, container } = log;
  const around = container && {
    iterationType: container.kind,
    iterationContainerId: container.blockId,
    iterationCurrent: container.index,
  };
  return { blockId, blockName, blockType, executionOrder, ...around };
}

function endedOf({ log }: BlockEvent): Data {
  const { startedMs, endedMs, durationMs } = log;
  const endedAt = endedMs === undefined ? null : new Date(endedMs).toISOString();
  return { startedAt: new Date(startedMs).toISOString(), endedAt, durationMs: durationMs ?? null };
}

function failureOf({ log }: BlockEvent): Json {
  return log.error?.message ?? 'The block was cancelled.';
}
