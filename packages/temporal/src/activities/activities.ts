import type { RuntimeParts, Segments, Happening } from '@heddle/engine/runtime';
import { isEngineError } from '@heddle/core';
import type { Timed } from '@heddle/engine/runtime';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { encode } from '../coded.ts';
import { hashOf } from '../hash.ts';
import { Beats } from './beats.ts';
import { chunkOf } from '../chunk.ts';
import { demandsOf } from './demands.ts';
import type { Coded, SegmentInput, Profile, SegmentResult, SettleInput } from '../messages.ts';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';

interface ActivityParts {
  runtime: Pick<RuntimeParts, 'values'>;
  segments: Segments;
  profile: Profile;
  /** Aborted when this process has to stop: what runs is handed back. */
  leaving: AbortSignal;
}

/** The activities of a worker by type; `default` stands for every block type. */
export function activitiesOf(parts: ActivityParts) {
  const segment = (input: SegmentInput): Promise<SegmentResult> => runSegment(parts, input);
  return {
    [SEGMENT_ACTIVITY]: segment,
    default: (...args: unknown[]): Promise<SegmentResult> => segment(args[0] as SegmentInput),
    [SETTLE_ACTIVITY]: ({ runId, position, fault }: SettleInput): Promise<void> =>
      reported(() => parts.segments.settle(runId, position, fault)),
  };
}

async function runSegment(parts: ActivityParts, input: SegmentInput): Promise<SegmentResult> {
  const context = Context.current();
  const signal = AbortSignal.any([context.cancellationSignal, parts.leaving]);
  // What runs within a workflow task has no heartbeat.
  const beats = context.info.isLocal ? undefined : new Beats(context, parts.runtime);
  try {
    return await reported(async () => {
      const done = await beats?.earlier();
      const progress = (entries: readonly Timed[]): void => beats?.note(entries);
      return resultOf(parts, await parts.segments.run({ ...input, signal, done, progress }));
    });
  } finally {
    beats?.stop();
  }
}

async function resultOf(
  { runtime, profile }: ActivityParts,
  happening: Happening & { id: string; over: boolean; written: boolean },
): Promise<SegmentResult> {
  const { id, over, written, entries, events, calls } = happening;
  const coded = events.map((event, index): Coded => {
    const entry = entries[index];
    const token = entry?.type === 'paused' ? entry.token : undefined;
    return token === undefined ? encode(event) : encode(event, hashOf(token));
  });
  const demands = demandsOf(calls, profile);
  return {
    id,
    over,
    chunk: await chunkOf(runtime.values, [...entries, ...demands.entries]),
    events: [...coded, ...demands.events],
    children: demands.children,
    ...(written && { written }),
  };
}

/** What stands against the run is tried again by the server, with its code alone: messages may hold what users know. */
async function reported<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (Context.current().cancellationSignal.aborted) throw Context.current().cancellationSignal.reason;
    const code = isEngineError(error) ? error.code : 'ENGINE_FAULT';
    throw ApplicationFailure.retryable(`The run cannot go on now (${code}): its record says why.`, code);
  }
}
