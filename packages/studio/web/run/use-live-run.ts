import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { followRun } from '../api/events.ts';
import { isOpen } from '../api/queries.ts';

/** Events that arrive within this time cause one update. */
const UPDATE_MS = 300;

/** Requests the data of a run again whenever the run has changed, until it has ended. */
export function useLiveRun(runId: string, status: string | undefined): void {
  const queries = useQueryClient();
  const isLive = status !== undefined && isOpen(status);
  useEffect(() => {
    if (!isLive) return undefined;
    const cancellation = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refetch = async (): Promise<void> => {
      hasChanged = false;
      // Resolves when all data has arrived. For a large run, the next event may arrive earlier.
      await queries.invalidateQueries({ queryKey: ['run', runId] });
      timer = undefined;
      if (hasChanged) update();
    };
    let hasChanged = false;
    const update = (): void => {
      hasChanged = true;
      if (!cancellation.signal.aborted) timer ??= setTimeout(() => void refetch(), UPDATE_MS);
    };
    // If the events cannot be followed, the overview is still polled.
    followRun(runId, update, cancellation.signal).then(update, update);
    return () => {
      cancellation.abort();
      clearTimeout(timer);
    };
  }, [queries, runId, isLive, status]);
}
