import type { Json } from '@heddle/core';
import type { RunEvent, RunHandle, RunResource } from '@heddle/engine';
import { eventStream, ndjsonResponse } from '../../http/stream.ts';
import type { ServerSentEvent } from '../../http/stream.ts';
import type { AreaContext } from '../../context.ts';
import { OutputEvents } from './output-events.ts';
import type { AgentEvents } from './output-events.ts';
import { AGENT_EVENTS_PROTOCOL } from './rules.ts';
import type { RunResult } from './schemas.ts';
import { selectedValues } from './selected-outputs.ts';
import type { ResolvedSelector } from './selected-outputs.ts';
import { resultOf } from './views.ts';

/** A run whose result is streamed. */
export interface StreamedRun {
  run: RunHandle;
  /** The id by which the caller knows the run. */
  runId: string;
  selectors: readonly ResolvedSelector[] | undefined;
  /** Returns a value with the contents of its files, if the caller wants them. */
  inlineFiles: (value: Json) => Promise<Json>;
  /** Returns the part of the result that the caller may see. */
  restrict: (result: RunResult) => RunResult;
  /** Undefined: the client does not support agent events. */
  agentEvents: AgentEvents | undefined;
  /** Cancels the run. */
  cancel(): void;
  headers: { [name: string]: string };
}

/** Returns JSON lines: a heartbeat immediately and then at intervals, and the result as the last line. */
export function respondWithLines(services: AreaContext, streamedRun: StreamedRun): Response {
  const result = waitForResult(services, streamedRun).then(
    (data) => ({ type: 'final', data }),
    (error: unknown) => {
      services.onError(error);
      return { type: 'error', error: 'Internal server error', status: 500 };
    },
  );
  let nextHeartbeat = Promise.withResolvers<undefined>();
  const stop = services.repeat(services.heartbeatMs, () => nextHeartbeat.resolve(undefined));
  void result.then(stop);
  const createHeartbeat = () => ({ type: 'heartbeat', timestamp: new Date(services.now()).toISOString() });
  async function* lines(): AsyncGenerator<object> {
    yield createHeartbeat();
    for (;;) {
      const lastLine = await Promise.race([result, nextHeartbeat.promise]);
      if (lastLine) return yield lastLine;
      nextHeartbeat = Promise.withResolvers();
      yield createHeartbeat();
    }
  }
  return ndjsonResponse(lines(), { onCancel: () => streamedRun.cancel(), headers: streamedRun.headers });
}

/**
 * Returns server-sent events: selected outputs as blocks end, then `final` or `error`, then `"[DONE]"`. No heartbeats.
 */
export function respondWithEvents(services: AreaContext, streamedRun: StreamedRun): Response {
  const { run, selectors = [], agentEvents } = streamedRun;
  // Events cover this run only. Selected outputs of called workflows are part of the last event.
  const ownSelectors = selectors.filter(({ workflowId }) => workflowId === undefined);
  // Subscribes now, so that events before the first read are buffered.
  const events = ownSelectors.length > 0 || agentEvents ? run.events() : undefined;
  const protocolHeader = agentEvents && { 'X-Sim-Stream-Protocol': AGENT_EVENTS_PROTOCOL };
  return eventStream(streamedEvents(services, streamedRun, { ownSelectors, events }), {
    onCancel: () => streamedRun.cancel(),
    headers: { ...protocolHeader, ...streamedRun.headers },
  });
}

async function* streamedEvents(
  services: AreaContext,
  streamedRun: StreamedRun,
  {
    ownSelectors,
    events,
  }: { ownSelectors: readonly ResolvedSelector[]; events: AsyncIterable<RunEvent> | undefined },
): AsyncGenerator<ServerSentEvent> {
  try {
    const { agentEvents, inlineFiles } = streamedRun;
    const outputEvents = new OutputEvents({ selectors: ownSelectors, agentEvents, inlineFiles });
    for await (const event of events ?? []) {
      for await (const data of outputEvents.eventsFor(event)) yield { data };
    }
    for (const data of outputEvents.flush()) yield { data };
    yield { data: await createLastEvent(services, streamedRun, outputEvents.sentSelectors) };
  } catch (error) {
    services.onError(error);
    yield { data: { event: 'error', error: 'Internal server error' } };
  }
  yield { data: '[DONE]' };
}

async function createLastEvent(
  services: AreaContext,
  streamedRun: StreamedRun,
  sentSelectors: ReadonlySet<string>,
): Promise<object> {
  const { selectors, inlineFiles, restrict } = streamedRun;
  const resource = await streamedRun.run.result();
  const result = restrict(resultOf(resource, null));
  const { status, error } = result;
  if (error?.code === 'TIMEOUT') return { event: 'error', error: error.message };
  const value = selectors
    ? await unsentValues(services, resource, selectors, sentSelectors)
    : (result.output as Json);
  const output = await inlineFiles(value);
  const success = status === 'completed' || status === 'paused';
  const failure = success ? {} : { error: error?.message ?? `The run was ${status}.` };
  const data = { success, ...failure, output, ...(status === 'paused' && { status }) };
  return { event: 'final', data };
}

/** Returns the selected values that have not been streamed: `{blockId: {path: value}}`. */
async function unsentValues(
  { engine }: AreaContext,
  { runId }: RunResource,
  selectors: readonly ResolvedSelector[],
  sentSelectors: ReadonlySet<string>,
): Promise<Json> {
  const unsentSelectors = selectors.filter(({ selector }) => !sentSelectors.has(selector));
  const values = await selectedValues(engine, runId, unsentSelectors);
  const output: { [blockId: string]: { [path: string]: Json } } = {};
  for (const { selector, blockId, path } of unsentSelectors) {
    const value = values[selector];
    if (value !== undefined) (output[blockId] ??= {})[path.join('.')] = value;
  }
  return output;
}

/** Returns the result of the run with the selected values. */
export async function waitForResult(
  { engine }: Pick<AreaContext, 'engine'>,
  {
    run,
    runId,
    selectors,
    inlineFiles,
    restrict,
  }: Pick<StreamedRun, 'run' | 'runId' | 'selectors' | 'inlineFiles' | 'restrict'>,
): Promise<RunResult> {
  const resource = await run.result();
  const values = selectors ? await selectedValues(engine, resource.runId, selectors) : null;
  const result = restrict(resultOf({ ...resource, runId }, values));
  // In one call, because the limit on file contents covers both.
  const [output, blockOutputs] = (await inlineFiles([
    result.output as Json,
    result.blockOutputs as Json,
  ])) as [Json, typeof values];
  return { ...result, output, blockOutputs };
}
