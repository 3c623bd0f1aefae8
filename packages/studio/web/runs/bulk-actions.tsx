import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { cancelRun, rerun } from '../api/actions.ts';
import { client, dataOf } from '../api/client.ts';
import { isNonTerminal } from '../api/queries.ts';
import type { LogEntry, RunFilters } from '../api/queries.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';

/** Maximum number of runs on which an action without a selection acts. */
const MAX_RUNS = 1000;
/** Maximum number of concurrent requests. */
const CONCURRENCY = 4;

interface BulkProps {
  rows: readonly LogEntry[];
  selectedIds: ReadonlySet<string>;
  select: (ids: ReadonlySet<string>) => void;
  filters: RunFilters;
  hasFilters: boolean;
}

/**
 * Buttons that cancel runs or start them again. They act on the selected runs or, without a selection, on the newest
 * runs that match the filters.
 */
export function BulkActions({ rows, selectedIds, select, filters, hasFilters }: BulkProps) {
  const queryClient = useQueryClient();
  const [report, setReport] = useState('');
  const hasSelection = selectedIds.size > 0;
  const isEnabled = hasSelection || hasFilters;
  const targetLabel = hasSelection
    ? `${selectedIds.size} selected ${selectedIds.size === 1 ? 'run' : 'runs'}`
    : 'the runs that match the filters, at most the newest 1,000';
  const perform = async (
    successLabel: string,
    isApplicable: (row: LogEntry) => boolean,
    act: (row: LogEntry) => Promise<unknown>,
  ) => {
    const { data: runs, nextCursor = null } = hasSelection
      ? { data: rows.filter(({ runId }) => selectedIds.has(runId)) }
      : await fetchMatchingRuns(filters);
    const outcome = await actOn(runs.filter(isApplicable), act);
    setReport(formatReport(successLabel, { ...outcome, isTruncated: nextCursor !== null }));
    select(new Set());
    await queryClient.invalidateQueries({ queryKey: ['runs'] });
  };
  return (
    <div className="bulk">
      <span>
        {hasSelection ? `${selectedIds.size} selected` : 'Select runs, or set a filter, to act on several.'}
      </span>
      <ConfirmButton
        label="Cancel runs"
        title={`Cancel ${targetLabel}?`}
        danger
        disabled={!isEnabled}
        onConfirm={() =>
          perform(
            'Cancelled',
            ({ status }) => isNonTerminal(status),
            (row) => cancelRun(runRefOf(row)),
          )
        }
      >
        <p>Runs that have ended stay as they are. Running blocks are stopped.</p>
      </ConfirmButton>
      <ConfirmButton
        label="Run again"
        title={`Start ${targetLabel} again?`}
        disabled={!isEnabled}
        onConfirm={() =>
          perform(
            'Started',
            ({ status }) => !isNonTerminal(status),
            (row) => rerun(runRefOf(row)),
          )
        }
      >
        <p>Each run that has ended starts once more with its input, on the live version of its workflow.</p>
      </ConfirmButton>
      <span role="status">{report}</span>
    </div>
  );
}

function formatReport(
  successLabel: string,
  {
    doneCount,
    failedCount,
    reason,
    isTruncated,
  }: { doneCount: number; failedCount: number; reason: string; isTruncated: boolean },
): string {
  const failureNote = failedCount > 0 ? ` Failed: ${failedCount} (${reason}).` : '';
  const limitNote = isTruncated ? ` Only the newest ${MAX_RUNS} runs were included.` : '';
  return `${successLabel}: ${doneCount}.${failureNote}${limitNote}`;
}

function runRefOf({ runId, workflowId }: LogEntry) {
  return { runId, workflowId: workflowId ?? '' };
}

/** Returns the first page of the runs that match the filters, newest first. */
function fetchMatchingRuns(filters: RunFilters) {
  const query = { ...filters, limit: MAX_RUNS };
  return dataOf(client.GET('/api/v2/logs', { params: { query } }));
}

/** Calls `act` for each run, with concurrent requests. Returns the counts, and the message of the last error. */
async function actOn(rows: readonly LogEntry[], act: (row: LogEntry) => Promise<unknown>) {
  const queue = [...rows];
  const outcome = { doneCount: 0, failedCount: 0, reason: '' };
  const runWorker = async (): Promise<void> => {
    for (let row = queue.pop(); row; row = queue.pop()) {
      try {
        await act(row);
        outcome.doneCount += 1;
      } catch (error) {
        outcome.failedCount += 1;
        outcome.reason = error instanceof Error ? error.message : String(error);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runWorker));
  return outcome;
}
