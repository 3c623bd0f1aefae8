import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { client, dataOf, isForbidden } from '../api/client.ts';
import { ErrorNotice, Loading } from './notice.tsx';
import { Time } from './format.tsx';

interface AuditProps {
  workspaceId: string;
  /** The id of a run or a workflow. */
  resourceId: string;
}

function auditQuery({ workspaceId, resourceId }: AuditProps) {
  return infiniteQueryOptions({
    queryKey: ['audit', workspaceId, resourceId],
    queryFn: ({ pageParam: cursor }) => {
      const query = { resourceId, limit: 50, ...(cursor !== '' && { cursor }) };
      const url = '/api/v2/workspaces/{workspaceId}/audit-logs';
      return dataOf(client.GET(url, { params: { path: { workspaceId }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    retry: false,
  });
}

/** The audit log of a run or a workflow, newest first. Only admins of the workspace may see it. */
export function AuditLog(props: AuditProps) {
  const events = useInfiniteQuery(auditQuery(props));
  const auditEvents = events.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <section className="audit" aria-label="Audit log">
      <h3>Audit log</h3>
      {isForbidden(events.error) && <p>Only admins of the workspace can see the audit log.</p>}
      {events.error && !isForbidden(events.error) && (
        <ErrorNotice error={events.error} retry={events.refetch} />
      )}
      {events.isPending && <Loading label="the audit log" />}
      {events.data && auditEvents.length === 0 && <p>Nothing is recorded.</p>}
      {auditEvents.length > 0 && (
        <ul className="audit-events">
          {auditEvents.map(({ id, action, actorName, apiKeyName, isConfirmed, createdAt }) => (
            <li key={id}>
              <Time iso={createdAt} /> <strong>{formatAction(action)}</strong> by{' '}
              <bdi>{actorName ?? (apiKeyName === null ? 'the server' : 'a key of the workspace')}</bdi>
              {apiKeyName !== null && (
                <>
                  {' '}
                  (key <bdi>{apiKeyName}</bdi>)
                </>
              )}
              {!isConfirmed && ', possibly not completed'}
            </li>
          ))}
        </ul>
      )}
      {events.hasNextPage && (
        <button type="button" className="button" onClick={() => void events.fetchNextPage()}>
          Show more
        </button>
      )}
    </section>
  );
}

/** Returns `WORKFLOW_DEPLOYED` as `Workflow deployed`. */
function formatAction(action: string): string {
  const text = action.toLowerCase().replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
