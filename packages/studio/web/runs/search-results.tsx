import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { searchQuery } from '../api/queries.ts';
import type { RunFilters, SearchPage } from '../api/queries.ts';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import { Status } from '../components/status.tsx';
import { Time } from '../components/format.tsx';
import type { TextPart } from '../shell/search.ts';

interface SearchProps {
  filters: RunFilters;
  text: string;
  part: TextPart | 'any';
}

/** The runs whose values or errors contain the text, with the part that matches, and the progress of the search. */
export function SearchResults({ filters, text, part }: SearchProps) {
  const search = useInfiniteQuery(searchQuery(filters, text, part));
  const pages = search.data?.pages ?? [];
  const matches = pages.flatMap((page) => page.matches);
  if (search.error) return <ErrorNotice error={search.error} retry={search.refetch} />;
  if (search.isPending) return <Loading label="matches" />;
  return (
    <section className="search-results" aria-label="Matches">
      <p role="status" className="value-note">
        {formatReport(pages, search.hasNextPage)}
      </p>
      {matches.length === 0 && <EmptyNotice title={`No searched run contains “${text}”`} />}
      <ul>
        {matches.map((match) => (
          <Match key={match.run.runId} match={match} />
        ))}
      </ul>
      {search.hasNextPage && (
        <button
          type="button"
          className="button"
          disabled={search.isFetchingNextPage}
          onClick={() => void search.fetchNextPage()}
        >
          {search.isFetchingNextPage ? 'Searching…' : 'Search older runs'}
        </button>
      )}
    </section>
  );
}

/** Returns how many runs were searched, and whether these are all runs. If not, older runs may also match. */
function formatReport(pages: readonly SearchPage[], hasMore: boolean): string {
  const total = pages.reduce((sum, page) => sum + page.searchedRuns, 0);
  const skippedCount = pages.reduce((sum, page) => sum + page.skippedValues, 0);
  const summary = hasMore ? `The newest ${total} runs were searched.` : `All ${total} runs were searched.`;
  return skippedCount === 0 ? summary : `${summary} ${skippedCount} values of more than 1 MB were skipped.`;
}

function Match({ match: { run, in: part, blockName, preview } }: { match: SearchPage['matches'][number] }) {
  return (
    <li className="search-match">
      <Link to="/runs/$runId" params={{ runId: run.runId }} search={{}} className="row-link">
        <bdi>{run.workflow?.name ?? run.workflowId}</bdi>
      </Link>
      <Status status={run.status} />
      <Time iso={run.startedAt} />
      <p>
        <span className="search-place">
          {part === 'error' ? 'Error' : part === 'input' ? 'Input' : 'Output'}
          {blockName !== null && (
            <>
              {' '}
              of <bdi>{blockName}</bdi>
            </>
          )}
        </span>{' '}
        <bdi className="mono">{preview}</bdi>
      </p>
    </li>
  );
}
