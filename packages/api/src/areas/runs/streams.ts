import type { Json } from '@heddle/core';
import type { RunHandle, RunResource } from '@heddle/engine';
import { EVENT_STREAM, streamOf } from '../../http/stream.ts';
import type { Services } from '../../services.ts';
import { OutputFrames } from './output-frames.ts';
import type { AgentEvents } from './output-frames.ts';
import { resultOf } from './views.ts';
import { AGENT_EVENTS } from './rules.ts';
import { selectedValues } from './selected.ts';
import type { Selected } from './selected.ts';
import type { RunResult } from './schemas.ts';

/** A run that is streamed: what moves it, and what of it is wanted. */
export interface Streamed {
  run: RunHandle;
  /** The id by which the caller knows the run. */
  runId: string;
  selected: readonly Selected[] | undefined;
  /** A value as it is shown. */
  show: (value: Json) => Promise<Json>;
  /** The result as the caller may see it. */
  view: (result: RunResult) => RunResult;
  /** What of the events of agents is wanted; undefined: the client does not know them. */
  agents: AgentEvents | undefined;
  /** Cancels the run: nobody reads any more. */
  abandon(): void;
  headers: { [name: string]: string };
}

/** Lines of JSON: a heartbeat at once and then every few seconds, and the result as the last line. */
export function ndjson(services: Services, streamed: Streamed): Response {
  const line = (value: object): string => `${JSON.stringify(value)}\n`;
  const beat = (): string => line({ type: 'heartbeat', timestamp: new Date(services.now()).toISOString() });
  const body = streamOf(
    () => streamed.abandon(),
    async (write) => {
      write(beat());
      const stop = services.every(services.heartbeatMs, () => write(beat()));
      try {
        write(line({ type: 'final', data: await finalResult(services, streamed) }));
      } catch (error) {
        services.report(error);
        write(line({ type: 'error', error: 'Internal server error', status: 500 }));
      } finally {
        stop();
      }
    },
  );
  const headers = {
    'Content-Type': 'application/x-ndjson; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
    Vary: 'Accept',
  };
  return new Response(body, { headers: { ...headers, ...streamed.headers } });
}

/** Server-sent events: selected outputs as they come, then `final` (or `error`), then `"[DONE]"`. */
export function serverSentEvents(services: Services, streamed: Streamed): Response {
  const body = streamOf(
    () => streamed.abandon(),
    async (write) => {
      const frame = (value: unknown): void => write(`data: ${JSON.stringify(value)}\n\n`);
      try {
        const sent = await sendChunks(streamed, frame);
        frame(await lastFrame(services, streamed, sent));
      } catch (error) {
        services.report(error);
        frame({ event: 'error', error: 'Internal server error' });
      }
      frame('[DONE]');
    },
  );
  const agreed = streamed.agents && { 'X-Sim-Stream-Protocol': AGENT_EVENTS };
  return new Response(body, { headers: { ...EVENT_STREAM, ...agreed, ...streamed.headers } });
}

/** Sends what was selected of each block that ends, and gives the selectors that were sent. */
async function sendChunks(
  { run, selected = [], agents, show }: Streamed,
  frame: (value: unknown) => void,
): Promise<ReadonlySet<string>> {
  // Events are the run's own: what is selected of called workflows comes at the end.
  const own = selected.filter(({ workflowId }) => workflowId === undefined);
  const answers = new OutputFrames({ selected: own, agents, show, frame });
  if (own.length === 0 && !agents) return answers.sent;
  for await (const event of run.events()) {
    if (event.type === 'block:emission') answers.told(event.blockId, event.emission);
    else if (event.type === 'block:completed') await answers.completed(event.log.blockId, event.output);
    else if (event.type === 'block:retrying') answers.dropped(event.blockId);
    else if (event.type === 'block:failed') answers.dropped(event.log.blockId);
  }
  return answers.sent;
}

async function lastFrame(services: Services, streamed: Streamed, sent: ReadonlySet<string>): Promise<object> {
  const { selected, show, view } = streamed;
  const resource = await streamed.run.result();
  const result = view(resultOf(resource, null));
  const { status, error } = result;
  if (error?.code === 'TIMEOUT') return { event: 'error', error: error.message };
  const shown = selected ? await unsent(services, resource, selected, sent) : (result.output as Json);
  const output = await show(shown);
  const success = status === 'completed' || status === 'paused';
  const failed = success ? {} : { error: error?.message ?? `The run was ${status}.` };
  const data = { success, ...failed, output, ...(status === 'paused' && { status }) };
  return { event: 'final', data };
}

/** What was selected and not streamed: `{blockId: {path: value}}`. */
async function unsent(
  { engine }: Services,
  { runId }: RunResource,
  selected: readonly Selected[],
  sent: ReadonlySet<string>,
): Promise<Json> {
  const left = selected.filter(({ selector }) => !sent.has(selector));
  const values = await selectedValues(engine, runId, left);
  const output: { [blockId: string]: { [path: string]: Json } } = {};
  for (const { selector, blockId, path } of left) {
    const value = values[selector];
    if (value !== undefined) (output[blockId] ??= {})[path.join('.')] = value;
  }
  return output;
}

/** The result with what was selected of it. */
export async function finalResult(
  { engine }: Pick<Services, 'engine'>,
  { run, runId, selected, show, view }: Pick<Streamed, 'run' | 'runId' | 'selected' | 'show' | 'view'>,
): Promise<RunResult> {
  const resource = await run.result();
  const values = selected ? await selectedValues(engine, resource.runId, selected) : null;
  // Together: what is shown of files counts over both.
  const result = view(resultOf({ ...resource, runId }, values));
  const [output, blockOutputs] = (await show([result.output as Json, result.blockOutputs as Json])) as [
    Json,
    typeof values,
  ];
  return { ...result, output, blockOutputs };
}
