import type { FrameStart, StartedEvent } from '../machine/event.ts';
import type { PlanIndex } from '../plan/index-plan.ts';
import type { Entry } from './entry.ts';

type StartedEntry = Extract<Entry, { type: 'started' }>;

/**
 * Converts the first entry of a journal to the event that starts the run; undefined if the plan lacks the start block.
 */
export function startedEventOf(index: PlanIndex, entry: StartedEntry): StartedEvent | undefined {
  const { atMs, graceMs, timeoutMs, activeOnly, reused } = entry;
  const start = index.topLevelIndex(entry.start);
  const until = entry.until === undefined ? undefined : index.topLevelIndex(entry.until);
  const frameStarts = reused?.inside && framesOf(index, entry.start, reused.inside.frames);
  if (start === undefined || (reused?.inside && !frameStarts)) return undefined;
  return {
    ...{ type: 'started', atMs, start, graceMs },
    ...(frameStarts && { inside: frameStarts }),
    ...(until !== undefined && { until }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(activeOnly && { activeOnly: true }),
  };
}

function framesOf(
  index: PlanIndex,
  block: string,
  frames: NonNullable<NonNullable<StartedEntry['reused']>['inside']>['frames'],
): FrameStart[] | undefined {
  const path = index.byId(block)?.path.slice(1) ?? [];
  if (frames.length === 0 || frames.length !== path.length) return undefined;
  return frames.map((frame, depth) => ({ ...frame, node: path[depth] ?? 0 }));
}
