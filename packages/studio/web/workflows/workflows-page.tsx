import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { Empty, Failed, Loading } from '../parts/notice.tsx';
import { PlainTable } from '../parts/plain-table.tsx';
import { Time } from '../parts/time.tsx';
import { useWorkspaceId } from '../shell/workspace.ts';
import { workflowsQuery } from './queries.ts';

/** The workflows of the workspace. */
export function WorkflowsPage() {
  const workspaceId = useWorkspaceId();
  const [text, setText] = useState('');
  const search = useDeferredValue(text.trim());
  const workflows = useInfiniteQuery(workflowsQuery(workspaceId, search));
  const rows = workflows.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <div className="page">
      <h1>Workflows</h1>
      <form
        className="filters"
        role="search"
        aria-label="Workflows"
        onSubmit={(event) => event.preventDefault()}
      >
        <label className="field">
          <span>Name</span>
          <input
            type="search"
            maxLength={200}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
      </form>
      {workflows.error && <Failed error={workflows.error} retry={workflows.refetch} />}
      {workflows.isPending && <Loading what="workflows" />}
      {workflows.data && rows.length === 0 && (
        <Empty title={search === '' ? 'There is no workflow yet' : 'No workflow has this name'}>
          {search === '' && <p>heddle deploy FILE deploys one.</p>}
        </Empty>
      )}
      {rows.length > 0 && <WorkflowTable rows={rows} />}
      {workflows.hasNextPage && (
        <button type="button" className="button" onClick={() => void workflows.fetchNextPage()}>
          Show more
        </button>
      )}
    </div>
  );
}

interface Row {
  id: string;
  name: string;
  folderPath: string;
  isDeployed: boolean;
  runCount: number;
  lastRunAt: string | null;
  updatedAt: string;
}

function WorkflowTable({ rows }: { rows: readonly Row[] }) {
  return (
    <PlainTable
      label="List of workflows"
      columns={['Name', 'Folder', 'Deployed', 'Runs', 'Last run', 'Changed']}
    >
      {rows.map(({ id, name, folderPath, isDeployed, runCount, lastRunAt, updatedAt }) => (
        <tr key={id}>
          <td>
            <Link to="/workflows/$workflowId" params={{ workflowId: id }} search={{}}>
              <bdi>{name}</bdi>
            </Link>
          </td>
          <td>
            <bdi>{folderPath}</bdi>
          </td>
          <td>{isDeployed ? 'yes' : 'no'}</td>
          <td className="number">{runCount}</td>
          <td>{lastRunAt === null ? '–' : <Time iso={lastRunAt} />}</td>
          <td>
            <Time iso={updatedAt} />
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}
