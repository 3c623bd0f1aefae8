import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { followRun } from '../api/events.ts';
import { isOpen } from '../api/queries.ts';

/** Events that arrive within this time cause one refetch. */
const UPDATE_DELAY_MS = 300;

/** Refetches the data of a run whenever the run has changed, until it has ended. */
export function useLiveRun(runId: string, status: string | undefined): void {
  const queryClient = useQueryClient();
  const isLive = status !== undefined && isOpen(status);
  useEffect(() => {
    if (!isLive) return undefined;
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refetch = async (): Promise<void> => {
      hasChanged = false;
      // Resolves when all data has arrived. For a large run, the next event may arrive earlier.
      await queryClient.invalidateQueries({ queryKey: ['run', runId] });
      timer = undefined;
      if (hasChanged) scheduleRefetch();
    };
    let hasChanged = false;
    const scheduleRefetch = (): void => {
      hasChanged = true;
      if (!controller.signal.aborted) timer ??= setTimeout(() => void refetch(), UPDATE_DELAY_MS);
    };
    // If the events cannot be followed, the overview is still polled.
    followRun(runId, scheduleRefetch, controller.signal).then(scheduleRefetch, scheduleRefetch);
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [queryClient, runId, isLive, status]);
}
