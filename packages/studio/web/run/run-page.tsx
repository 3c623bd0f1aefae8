import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { overviewQuery, statesQuery } from '../api/queries.ts';
import type { BlockState, Overview } from '../api/queries.ts';
import { FailedPage, Loading } from '../parts/notice.tsx';
import { Details } from './details.tsx';
import { BlockGraph } from '../graph/graph.tsx';
import { Outline } from '../graph/outline.tsx';
import { Pauses } from './pauses.tsx';
import { RunHeader } from './run-header.tsx';
import { ScopeBar } from './scope-bar.tsx';
import { selectionOf } from './selection.ts';
import { Timeline } from './timeline.tsx';
import { useLiveRun } from './use-live-run.ts';

const route = getRouteApi('/runs/$runId');

/** One run: its graph or timeline, and the values of the selection. */
export function RunPage() {
  const { runId } = route.useParams();
  const { scope = '' } = route.useSearch();
  const overview = useQuery(overviewQuery(runId));
  const states = useQuery(statesQuery(runId, scope));
  useLiveRun(runId, overview.data?.status);
  if (overview.error) return <FailedPage what="Run" error={overview.error} retry={overview.refetch} />;
  if (states.error) return <FailedPage what="Run" error={states.error} retry={states.refetch} />;
  if (!overview.data || !states.data) return <Loading what="the run" />;
  return <LoadedRun key={runId} run={overview.data} states={states.data} />;
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
