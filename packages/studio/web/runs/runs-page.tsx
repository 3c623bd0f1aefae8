import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { runsQuery } from '../api/queries.ts';
import type { RunFilters } from '../api/queries.ts';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import type { RunListSearch } from '../shell/search.ts';
import { useWorkspaceId } from '../shell/workspace.ts';
import { BulkActions } from './bulk-actions.tsx';
import { Filters } from './filters.tsx';
import { RunsTable } from './runs-table.tsx';
import { SearchResults } from './search-results.tsx';
import { periodStart } from './periods.ts';

const route = getRouteApi('/runs');

/** The list of runs with its filters. */
export function RunsPage() {
  const workspaceId = useWorkspaceId();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const filters = useMemo(() => filtersOf(workspaceId, search), [workspaceId, search]);
  const setSearch = (next: RunListSearch) => void navigate({ search: next, replace: true });
  return (
    <div className="page">
      <h1 className="page-title">Runs</h1>
      <Filters search={search} onChange={setSearch} />
      {search.text === undefined ? (
        <RunList
          filters={filters}
          hasFilters={Object.keys(search).length > 0}
          clearFilters={() => setSearch({})}
        />
      ) : (
        <SearchResults filters={filters} text={search.text} part={search.in ?? 'any'} />
      )}
    </div>
  );
}

interface RunListProps {
  filters: RunFilters;
  hasFilters: boolean;
  clearFilters: () => void;
}

function RunList({ filters, hasFilters, clearFilters }: RunListProps) {
  const runs = useInfiniteQuery(runsQuery(filters));
  const [selectedIds, select] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => runs.data?.pages.flatMap(({ data }) => data) ?? [], [runs.data]);
  useEffect(() => select(new Set()), [filters]);
  return (
    <>
      {runs.error && <ErrorNotice error={runs.error} retry={runs.refetch} />}
      {runs.isPending && <Loading label="runs" />}
      {runs.data && rows.length === 0 && !runs.error && (
        <EmptyNotice title={hasFilters ? 'No run matches the filters' : 'Nothing has run yet'}>
          {hasFilters ? (
            <button type="button" className="button" onClick={clearFilters}>
              Clear the filters
            </button>
          ) : (
            <p>Runs appear here as soon as they start. heddle execute NAME starts one.</p>
          )}
        </EmptyNotice>
      )}
      {rows.length > 0 && (
        <>
          <BulkActions {...{ rows, selectedIds, select, filters, hasFilters }} />
          <RunsTable
            {...{ rows, selectedIds, select }}
            loadMore={runs.hasNextPage ? () => void runs.fetchNextPage() : undefined}
          />
        </>
      )}
    </>
  );
}

function filtersOf(
  workspaceId: string,
  { since, text: _text, in: _part, ...query }: RunListSearch,
): RunFilters {
  return { workspaceId, ...query, ...(since !== undefined && { startDate: periodStart(since) }) };
}
