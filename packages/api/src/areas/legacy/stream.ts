import * as z from 'zod';
import type { RunDetail, RunEvent } from '@heddle/engine';
import { refusalOf } from '../../engine-errors.ts';
import { badRequest, notFound } from '../../errors.ts';
import { EVENT_STREAM, streamOf } from '../../http/stream.ts';
import { defineOperation } from '../../operation.ts';
import type { Services } from '../../services.ts';
import { findRun } from '../runs/find.ts';
import type { RunIds } from '../runs/ids.ts';
import { expectWorkflow } from '../workflows/operations.ts';
import { legacyEvent } from './events.ts';
import { executionPath } from './schemas.ts';

export const streamExecution = defineOperation({
  id: 'streamExecution',
  method: 'GET',
  path: '/api/workflows/{workflowId}/executions/{executionId}/stream',
  tag: 'Older interface',
  summary: 'Follow an execution, from its beginning or from an event on',
  legacy: true,
  resource: 'workflow',
  scope: 'api:read',
  role: 'read',
  workspaceKeys: true,
  params: executionPath,
  query: z.strictObject({ from: z.int().min(0).optional() }),
  success: [],
  streams: [
    {
      type: 'text/event-stream',
      description: 'What has happened since the event `from`, and what happens, to the end or a pause',
    },
  ],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query, headers }, workflow) {
    const found = await findRun(services, expectWorkflow(workflow), path.executionId);
    // One that was accepted and not begun has no events yet.
    const { run, engineId, runId } = found;
    if (!run) throw notFound('Execution');
    const from = query.from ?? lastSeen(headers);
    return {
      raw: new Response(followed(services, { ...run, engineId, runId }, from), { headers: EVENT_STREAM }),
    };
  },
});

type Followed = RunIds & Pick<RunDetail, 'workflowId'>;

/** What a browser that connects again has seen last. */
function lastSeen(headers: Headers): number {
  const given = headers.get('last-event-id') ?? '0';
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw badRequest('Last-Event-ID is the id of an event: a whole number');
}

function followed(services: Services, run: Followed, from: number): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  return streamOf(
    () => gone.abort(),
    async (write) => {
      try {
        const { signal } = gone;
        for await (const [id, event] of numbered(services.engine.follow(run.engineId, { signal })))
          if (id === undefined || id > from) write(frameOf(run, event, id));
      } catch (error) {
        // A process that stops is no fault; whoever follows connects to the next one.
        if (!refusalOf(error)) services.report(error);
      }
      write('data: "[DONE]"\n\n');
    },
  );
}

function frameOf(run: Followed, event: RunEvent, id: number | undefined): string {
  const shown = legacyEvent(event, run);
  if (!shown) return '';
  if (id === undefined) return `data: ${JSON.stringify(shown)}\n\n`;
  return `id: ${id}\ndata: ${JSON.stringify({ ...shown, eventId: id })}\n\n`;
}

/** Events with their numbers, from 1 on, the same in every look at the run; how it rests is told to those who are there, and has none. */
async function* numbered(
  events: AsyncIterable<RunEvent>,
): AsyncGenerator<[id: number | undefined, event: RunEvent]> {
  let id = 0;
  for await (const event of events) {
    const passing = event.type === 'run:paused' || event.type === 'run:resumed';
    yield passing ? [undefined, event] : [(id += 1), event];
  }
}
