import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect } from 'react';
import { followRun } from '../api/events.ts';
import { isNonTerminal, overviewQuery, statesQuery } from '../api/queries.ts';
import type { BlockState, Overview } from '../api/queries.ts';
import { ErrorPage, Loading } from '../components/notice.tsx';
import { Details } from './details.tsx';
import { BlockGraph } from '../graph/graph.tsx';
import { Outline } from '../graph/outline.tsx';
import { Pauses } from './pauses.tsx';
import { RunHeader } from './run-header.tsx';
import { scopeIterationsOf, selectionOf } from './selection.ts';
import { Timeline } from './timeline.tsx';

/** Events that arrive within this time cause one refetch. */
const UPDATE_DELAY_MS = 300;

const route = getRouteApi('/runs/$runId');

/** One run: its graph or timeline, and the values of the selection. */
export function RunPage() {
  const { runId } = route.useParams();
  const { scope = '' } = route.useSearch();
  const overview = useQuery(overviewQuery(runId));
  const states = useQuery(statesQuery(runId, scope));
  useLiveRun(runId, { status: overview.data?.status, statusOfStates: states.data?.status });
  if (overview.error) return <ErrorPage title="Run" error={overview.error} retry={overview.refetch} />;
  if (states.error) return <ErrorPage title="Run" error={states.error} retry={states.refetch} />;
  if (!overview.data || !states.data) return <Loading label="the run" />;
  return <LoadedRun key={runId} run={overview.data} states={states.data.blocks} />;
}

/** The loaded run. All parts read the selection from the URL of the page. */
function LoadedRun({ run, states }: { run: Overview; states: readonly BlockState[] }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const selection = selectionOf(run, states, search);
  const updateSearch = (change: Partial<typeof search>) =>
    void navigate({ search: (previous) => ({ ...previous, ...change }) });
  const selectBlock = (blockId: string) => {
    const span = states.find((state) => state.blockId === blockId)?.spanId;
    updateSearch(span === undefined ? { block: blockId, span: undefined } : { span, block: undefined });
  };
  const showsTimeline = search.view === 'timeline';
  return (
    <div className="run">
      <RunHeader run={run} />
      <Pauses run={run} />
      <div className="run-view-bar">
        <div role="group" aria-label="View">
          <button
            type="button"
            className="button quiet"
            aria-pressed={!showsTimeline}
            onClick={() => updateSearch({ view: undefined })}
          >
            Graph
          </button>
          <button
            type="button"
            className="button quiet"
            aria-pressed={showsTimeline}
            onClick={() => updateSearch({ view: 'timeline' })}
          >
            Timeline
          </button>
        </div>
        <ScopeBar
          run={run}
          scope={search.scope ?? ''}
          onChange={(scope) => updateSearch({ scope: scope === '' ? undefined : scope, span: undefined })}
        />
      </div>
      <div className="run-body">
        {showsTimeline ? (
          <Timeline
            run={run}
            selectedSpanId={search.span}
            selectSpan={(span) => updateSearch({ span, block: undefined })}
          />
        ) : (
          <>
            <Outline graph={run.graph} {...{ states, selectBlock }} selectedId={selection.block?.id} />
            <BlockGraph graph={run.graph} {...{ states, selectBlock }} selectedId={selection.block?.id} />
          </>
        )}
        <Details {...{ run, selection, updateSearch }} pane={search.pane ?? 'output'} />
      </div>
    </div>
  );
}

interface ScopeBarProps {
  run: Overview;
  scope: string;
  onChange: (scope: string) => void;
}

/** The iterations that the graph shows, outermost first, as buttons that lead back to them. */
function ScopeBar({ run, scope, onChange }: ScopeBarProps) {
  const iterations = scopeIterationsOf(run.graph, scope);
  if (iterations.length === 0) return null;
  return (
    <nav className="scope" aria-label="Shown iterations">
      <button type="button" className="button quiet" onClick={() => onChange('')}>
        All iterations
      </button>
      {iterations.map(({ spanId, name, index }) => (
        <button
          type="button"
          className="button quiet"
          key={spanId}
          aria-current={spanId === scope ? 'true' : undefined}
          onClick={() => onChange(spanId)}
        >
          <bdi>{name}</bdi> #{index}
        </button>
      ))}
    </nav>
  );
}

/**
 * Refetches the data of a run whenever the run has changed, until it has ended. `status` is from the overview;
 * `statusOfStates` is from the states of the blocks, which are requested separately.
 */
function useLiveRun(
  runId: string,
  { status, statusOfStates }: { status: string | undefined; statusOfStates: string | undefined },
): void {
  const queryClient = useQueryClient();
  const isLive = status !== undefined && isNonTerminal(status);
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
      // The overview with the new status may be newer than the other data.
      void queryClient.invalidateQueries({ queryKey: ['run', runId] });
    };
  }, [queryClient, runId, isLive, status]);
  const isOutdated =
    status !== undefined && !isLive && statusOfStates !== undefined && isNonTerminal(statusOfStates);
  useEffect(() => {
    if (isOutdated) void queryClient.invalidateQueries({ queryKey: ['run', runId] });
  }, [queryClient, runId, isOutdated]);
}
