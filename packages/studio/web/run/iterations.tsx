import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { spansQuery } from '../api/queries.ts';
import type { BlockState, Span } from '../api/queries.ts';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { Status } from '../components/status.tsx';
import { formatDuration } from '../components/format.tsx';

interface IterationsProps {
  runId: string;
  state: BlockState;
  /** Shows the blocks as they ran in the iteration with this span. */
  openIteration: (spanId: string) => void;
}

/** The statuses by which the list can be filtered. */
const STATUSES = ['running', 'paused', 'completed', 'failed', 'cancelled'] as const;

/** The iterations of a loop or branches of a parallel: counts by status, a list, and a field to jump to a number. */
export function Iterations({ runId, state, openIteration }: IterationsProps) {
  const [status, setStatus] = useState<Span['status']>();
  const filters = { under: state.spanId, direct: true, limit: 100, ...(status && { status }) };
  const spans = useInfiniteQuery(spansQuery(runId, filters));
  const counts = state.iterations;
  const iterationSpans = spans.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <section className="iterations" aria-label="Iterations">
      <div className="iterations-bar">
        <h3>Iterations</h3>
        <div role="group" aria-label="Show">
          <button
            type="button"
            className="button quiet"
            aria-pressed={!status}
            onClick={() => setStatus(undefined)}
          >
            All {counts?.total}
          </button>
          {STATUSES.filter((option) => (counts?.[option] ?? 0) > 0).map((option) => (
            <button
              type="button"
              className="button quiet"
              key={option}
              aria-pressed={status === option}
              onClick={() => setStatus(option)}
            >
              {option} {counts?.[option]}
            </button>
          ))}
        </div>
        <GoToIteration state={state} openIteration={openIteration} />
      </div>
      {spans.error && <ErrorNotice error={spans.error} retry={spans.refetch} />}
      {spans.isPending && <Loading label="iterations" />}
      <ol className="iteration-list">
        {iterationSpans.map(({ id, index, status: rowStatus, durationMs }) => (
          <li key={id}>
            <button type="button" onClick={() => openIteration(id)}>
              <span className="number">#{index}</span>
              <Status status={rowStatus} />
              <span className="number">{durationMs === null ? '' : formatDuration(durationMs)}</span>
            </button>
          </li>
        ))}
      </ol>
      {spans.hasNextPage && (
        <button type="button" className="button" onClick={() => void spans.fetchNextPage()}>
          Show more
        </button>
      )}
    </section>
  );
}

function GoToIteration({ state, openIteration }: Pick<IterationsProps, 'state' | 'openIteration'>) {
  const [numberText, setNumberText] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        openIteration(`${state.spanId}/${Number(numberText)}`);
      }}
    >
      <label className="jump">
        <span>Go to #</span>
        <input
          type="number"
          min={0}
          max={(state.iterations?.total ?? 1) - 1}
          required
          value={numberText}
          onChange={({ target }) => setNumberText(target.value)}
        />
      </label>
    </form>
  );
}
