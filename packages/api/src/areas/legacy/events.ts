import type { RunDetail, RunEvent } from '@heddle/engine';
import type { Json } from '@heddle/core';

/** An event in the words of the older interface; undefined: it has none for it. */
export function legacyEvent(event: RunEvent, { workflowId, runId }: Pick<RunDetail, 'workflowId' | 'runId'>) {
  const told = toldOf(event);
  if (!told) return undefined;
  const [type, data] = told;
  const timestamp = new Date(event.atMs).toISOString();
  return { type, timestamp, executionId: runId, workflowId, data };
}

type Data = { [name: string]: unknown };
type BlockEvent = Extract<RunEvent, { log: unknown }>;

function toldOf(event: RunEvent): [type: string, data: Data] | undefined {
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
