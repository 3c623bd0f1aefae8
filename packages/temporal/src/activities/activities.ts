import { isEngineError } from '@heddle/core';
import type { SegmentOutcome, RuntimeDependencies, Segments, TimedEntry } from '@heddle/engine/runtime';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { storeChunk, hashToken } from '../chunk.ts';
import { encodeEvent } from '../event-codec.ts';
import type {
  ChildStart,
  EncodedEvent,
  Profile,
  SegmentActivityInput,
  SegmentActivityResult,
  SettleActivityInput,
} from '../messages.ts';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';
import { runInputOf } from '../run-input.ts';
import { Heartbeater } from './heartbeater.ts';

type ChildCall = SegmentOutcome['calls'][number];

interface ActivityDependencies {
  runtime: Pick<RuntimeDependencies, 'values' | 'stores'>;
  segments: Segments;
  profile: Profile;
  /** Aborted when this process must stop. Running blocks are cancelled, and other workers retry them. */
  shutdown: AbortSignal;
}

/** Returns the activities of a worker by type. `default` runs effect blocks: their activity type is the block type. */
export function createActivities(dependencies: ActivityDependencies) {
  const execute = (input: SegmentActivityInput): Promise<SegmentActivityResult> =>
    runSegment(dependencies, input);
  return {
    [SEGMENT_ACTIVITY]: execute,
    default: (...args: unknown[]): Promise<SegmentActivityResult> => execute(args[0] as SegmentActivityInput),
    [SETTLE_ACTIVITY]: ({ runId, position, fault }: SettleActivityInput): Promise<void> =>
      withHeartbeats(dependencies, runId, () => dependencies.segments.save(runId, position, fault)),
  };
}

async function runSegment(
  dependencies: ActivityDependencies,
  input: SegmentActivityInput,
): Promise<SegmentActivityResult> {
  const signal = AbortSignal.any([Context.current().cancellationSignal, dependencies.shutdown]);
  return withHeartbeats(dependencies, input.runId, async (heartbeater) => {
    const recoveredEntries = await heartbeater?.recover();
    const recordProgress = (entries: readonly TimedEntry[]): void => heartbeater?.record(entries);
    const result = await dependencies.segments.run({
      ...input,
      signal,
      recoveredEntries,
      onProgress: recordProgress,
    });
    return toActivityResult(dependencies, input.runId, result);
  });
}

/** Runs the work of an activity with heartbeats. Local activities have none. */
async function withHeartbeats<T>(
  { runtime }: ActivityDependencies,
  runId: string,
  work: (heartbeater: Heartbeater | undefined) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const heartbeater = context.info.isLocal ? undefined : new Heartbeater(context, runtime, runId);
  try {
    return await withFailureCode(() => work(heartbeater));
  } finally {
    heartbeater?.stop();
  }
}

async function toActivityResult(
  { runtime, profile }: ActivityDependencies,
  runId: string,
  result: SegmentOutcome & { id: string; over: boolean; written: boolean },
): Promise<SegmentActivityResult> {
  const { id, over, written, entries, events, calls } = result;
  const encodedEvents = events.map((event, index): EncodedEvent => {
    const entry = entries[index];
    const token = entry?.type === 'paused' ? entry.token : undefined;
    return token === undefined ? encodeEvent(event) : encodeEvent(event, hashToken(token));
  });
  const starts = childStartsOf(calls, profile);
  return {
    id,
    over,
    chunk: await storeChunk(runtime, runId, [...entries, ...starts.entries]),
    events: [...encodedEvents, ...starts.events],
    children: starts.children,
    ...(written && { written }),
  };
}

/** Returns the child runs to start, and the failures of blocks whose child run is too large to start. */
function childStartsOf(
  calls: readonly ChildCall[],
  profile: Profile,
): { children: ChildStart[]; entries: TimedEntry[]; events: EncodedEvent[] } {
  const starts = { children: [] as ChildStart[], entries: [] as TimedEntry[], events: [] as EncodedEvent[] };
  for (const call of calls) {
    const { at, try: attempt, resumes, plan, header, startedEntry } = call;
    try {
      const input = runInputOf(plan, header, startedEntry, profile);
      starts.children.push({ at: [...at], try: attempt, ...(resumes !== undefined && { resumes }), input });
    } catch (error) {
      if (!isEngineError(error) || error.code !== 'OPTIONS_INVALID') throw error;
      const { entry, event } = childFailure(call, error.message);
      starts.entries.push(entry);
      starts.events.push(event);
    }
  }
  return starts;
}

/** Returns the failure of a block whose child workflow is larger than the server accepts. A retry would not help. */
function childFailure(
  { at, try: attempt, resumes, header }: ChildCall,
  message: string,
): { entry: TimedEntry; event: EncodedEvent } {
  const { block = '', scope = [] } = header.parent ?? {};
  const atMs = header.createdMs;
  const error = { code: 'CHILD_FAILED', message, retryable: false };
  const attemptFields = { try: attempt, ...(resumes !== undefined && { resumes }) };
  const event = { type: 'failed' as const, at: [...at], atMs, attempt, retryable: false };
  return {
    entry: { type: 'failed', atMs, block, scope, ...attemptFields, startedMs: atMs, error },
    event: encodeEvent({ ...event, ...(resumes !== undefined && { resumes }) }),
  };
}

/** Converts errors to retryable failures with only their code, because messages may contain user data. */
async function withFailureCode<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (Context.current().cancellationSignal.aborted) throw Context.current().cancellationSignal.reason;
    const code = isEngineError(error) ? error.code : 'ENGINE_FAULT';
    throw ApplicationFailure.retryable(`The run cannot continue now (${code}): its record says why.`, code);
  }
}
