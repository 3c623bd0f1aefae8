import { useQuery } from '@tanstack/react-query';
import { Failed, Loading } from '../parts/notice.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Time } from '../parts/time.tsx';
import { RunLink } from '../run/run-link.tsx';
import { useWorkspaceId } from '../shell/workspace.ts';
import { triggersQuery } from './queries.ts';

/** What starts runs of the workflow by itself: its health, and when it fires next. */
export function Triggers({ workflowId }: { workflowId: string }) {
  const triggers = useQuery(triggersQuery(useWorkspaceId(), workflowId));
  if (triggers.error) return <Failed error={triggers.error} retry={triggers.refetch} />;
  if (triggers.isPending) return <Loading what="triggers" />;
  if (triggers.data.length === 0) return <p>The live version has no trigger.</p>;
  return (
    <PlainTable
      label="List of triggers"
      columns={['Trigger', 'Type', 'State', 'Next', 'Last', 'Last run', 'Health']}
    >
      {triggers.data.map(({ id, name, type, state, nextDueAt, lastDueAt, lastRunId, health, waitsFor }) => (
        <tr key={id}>
          <td>
            <bdi>{name}</bdi>
          </td>
          <td>{type.replaceAll('_', ' ')}</td>
          <td>{waitsFor === null ? state : `${state}, waits (${waitsFor})`}</td>
          <td>{nextDueAt === null ? '–' : <Time iso={nextDueAt} />}</td>
          <td>{lastDueAt === null ? '–' : <Time iso={lastDueAt} />}</td>
          <td>{lastRunId === null ? '–' : <RunLink runId={lastRunId} />}</td>
          <td>
            {health.lastError === null ? (
              'no failure'
            ) : (
              <span className="error-text">
                {health.failures} failed: <bdi>{health.lastError}</bdi>
              </span>
            )}
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}
