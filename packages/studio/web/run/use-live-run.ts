import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { followRun } from '../api/events.ts';
import { isOpen } from '../api/queries.ts';

/** Events that arrive within this time cause one update. */
const UPDATE_MS = 300;

/** Reads a run again whenever it has changed, until it has ended. */
export function useLiveRun(runId: string, status: string | undefined): void {
  const queries = useQueryClient();
  const isLive = status !== undefined && isOpen(status);
  useEffect(() => {
    if (!isLive) return undefined;
    const cancellation = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      hasMore = false;
      // Resolves when all parts are read; for a large run, the next event may arrive earlier.
      await queries.invalidateQueries({ queryKey: ['run', runId] });
      timer = undefined;
      if (hasMore) update();
    };
    let hasMore = false;
    const update = (): void => {
      hasMore = true;
      if (!cancellation.signal.aborted) timer ??= setTimeout(() => void read(), UPDATE_MS);
    };
    // If the events cannot be followed, the overview is still polled.
    followRun(runId, update, cancellation.signal).then(update, update);
    return () => {
      cancellation.abort();
      clearTimeout(timer);
    };
  }, [queries, runId, isLive, status]);
}
