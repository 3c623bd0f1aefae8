import * as Tabs from '@radix-ui/react-tabs';
import { useQuery } from '@tanstack/react-query';
import { RequestError } from '../api/client.ts';
import { valueQuery } from '../api/queries.ts';
import type { Overview } from '../api/queries.ts';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import { PANES } from '../shell/search.ts';
import type { Pane, RunSearch } from '../shell/search.ts';
import { Iterations } from './iterations.tsx';
import type { Selection } from './selection.ts';
import { scopeOf } from './selection.ts';
import { SpanFacts } from './span-facts.tsx';
import { Value } from './value.tsx';

const PANE_TITLES: { readonly [pane in Pane]: string } = {
  output: 'Output',
  input: 'Input',
  console: 'Console',
  details: 'Details',
};

interface DetailsProps {
  run: Overview;
  selection: Selection;
  pane: Pane;
  updateSearch: (change: Partial<RunSearch>) => void;
}

/** The values of the selected span, or of the run if nothing is selected. */
export function Details({ run, selection, pane, updateSearch }: DetailsProps) {
  const { block, spanId, state } = selection;
  const isIteration = spanId !== '' && scopeOf(run.graph, spanId) === spanId;
  const hasRun = block === undefined || spanId !== '';
  return (
    <aside className="details" aria-label="Details">
      <div className="details-title">
        <h2 dir="auto">{block?.name ?? 'Run'}</h2>
        {block && (
          <button
            type="button"
            className="button quiet"
            onClick={() => updateSearch({ span: undefined, block: undefined })}
          >
            Show the run
          </button>
        )}
      </div>
      {state?.iterations && (
        <Iterations
          key={state.spanId}
          runId={run.runId}
          state={state}
          openIteration={(scope) => updateSearch({ scope, span: scope, block: undefined })}
        />
      )}
      {!hasRun && <EmptyNotice title="This block has not run" />}
      {hasRun && (
        <Tabs.Root
          value={pane}
          onValueChange={(value) => updateSearch({ pane: value as Pane })}
          className="tabs"
        >
          <Tabs.List className="tab-list" aria-label="Values">
            {PANES.map((name) => (
              <Tabs.Trigger key={name} value={name} className="tab">
                {PANE_TITLES[name]}
              </Tabs.Trigger>
            ))}
          </Tabs.List>
          <Tabs.Content value={pane} className="tab-content" tabIndex={0} key={`${pane} ${spanId}`}>
            <PaneContent {...{ run, selection, pane, isIteration }} />
          </Tabs.Content>
        </Tabs.Root>
      )}
    </aside>
  );
}

interface PaneProps {
  run: Overview;
  selection: Selection;
  pane: Pane;
  isIteration: boolean;
}

function PaneContent({ run, selection, pane, isIteration }: PaneProps) {
  const { spanId } = selection;
  if (pane === 'details') return <SpanFacts run={run} selection={selection} />;
  if (isIteration) return <EmptyNotice title="Select a block in this iteration to see its values" />;
  if (pane === 'console') return <Console runId={run.runId} spanId={spanId} />;
  return <Value runId={run.runId} address={{ spanId, part: pane, path: '' }} />;
}

/** The text that the code of a block has printed: `stdout` of its output. */
function Console({ runId, spanId }: { runId: string; spanId: string }) {
  const address = { spanId, part: 'output', path: '/stdout' } as const;
  const stdout = useQuery(valueQuery(runId, address));
  if (stdout.isPending) return <Loading label="the console" />;
  if (stdout.error instanceof RequestError && stdout.error.status === 404)
    return <EmptyNotice title="Nothing was printed" />;
  if (stdout.error) return <ErrorNotice error={stdout.error} retry={stdout.refetch} />;
  const { data } = stdout;
  if (data.kind !== 'string' || data.nextOffset !== null) return <Value runId={runId} address={address} />;
  const text = JSON.parse(data.text) as string;
  return text === '' ? (
    <EmptyNotice title="Nothing was printed" />
  ) : (
    <pre className="console" dir="auto">
      {text}
    </pre>
  );
}
