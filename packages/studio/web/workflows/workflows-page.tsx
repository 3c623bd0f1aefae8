import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import { PlainTable } from '../components/plain-table.tsx';
import { Time } from '../components/format.tsx';
import { useWorkspaceId } from '../shell/workspace.ts';
import { FolderForms, MoveWorkflowsForm } from './folder-forms.tsx';
import { ROOT, formatPath } from './folder-rows.ts';
import { FolderTree } from './folder-tree.tsx';
import { foldersQuery, workflowsQuery } from './queries.ts';

const route = getRouteApi('/workflows');

/** The workflows of the workspace, and its folders. */
export function WorkflowsPage() {
  const workspaceId = useWorkspaceId();
  const { folder = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const folders = useQuery(foldersQuery(workspaceId));
  const select = (path: string) => void navigate({ search: path === '' ? {} : { folder: path } });
  return (
    <div className="page">
      <h1>Workflows</h1>
      <div className="workflows-body">
        <section className="folders" aria-label="Folders">
          {folders.error && <ErrorNotice error={folders.error} retry={folders.refetch} />}
          {folders.isPending && <Loading label="folders" />}
          {folders.data && (
            <>
              <FolderTree key={workspaceId} folders={folders.data} selectedPath={folder} select={select} />
              <FolderForms {...{ workspaceId, select }} folders={folders.data} path={folder} />
            </>
          )}
        </section>
        <WorkflowList key={`${workspaceId} ${folder}`} folder={folder} folders={folders.data ?? []} />
      </div>
    </div>
  );
}

interface ListProps {
  folder: string;
  folders: Parameters<typeof MoveWorkflowsForm>[0]['folders'];
}

function WorkflowList({ folder, folders }: ListProps) {
  const [searchText, setSearchText] = useState('');
  const search = useDeferredValue(searchText.trim());
  return (
    <section
      className="workflow-list"
      aria-label={folder === '' ? 'All workflows' : 'Workflows of the folder'}
    >
      {folder !== '' && <h2 dir="auto">{folder === ROOT ? 'Without a folder' : formatPath(folder)}</h2>}
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
            value={searchText}
            onChange={({ target }) => setSearchText(target.value)}
          />
        </label>
      </form>
      <MatchingWorkflows {...{ folder, folders, search }} />
    </section>
  );
}

function MatchingWorkflows({ folder, folders, search }: ListProps & { search: string }) {
  const workspaceId = useWorkspaceId();
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string>>(new Set());
  const workflows = useInfiniteQuery(workflowsQuery(workspaceId, search, folder === '' ? undefined : folder));
  if (workflows.error) return <ErrorNotice error={workflows.error} retry={workflows.refetch} />;
  if (workflows.isPending) return <Loading label="workflows" />;
  const rows = workflows.data.pages.flatMap(({ data }) => data);
  if (rows.length === 0) return <NoWorkflowsNotice isSearch={search !== ''} folder={folder} />;
  const toggle = (id: string, isSelected: boolean): void => {
    const nextIds = new Set(selectedIds);
    if (isSelected) nextIds.add(id);
    else nextIds.delete(id);
    setSelectedIds(nextIds);
  };
  return (
    <>
      <div className="button-row">
        <MoveWorkflowsForm
          {...{ workspaceId, folders }}
          workflowIds={rows.flatMap(({ id }) => (selectedIds.has(id) ? [id] : []))}
          onMoved={() => setSelectedIds(new Set())}
        />
      </div>
      <WorkflowTable {...{ rows, selectedIds, toggle }} />
      {workflows.hasNextPage && (
        <button type="button" className="button" onClick={() => void workflows.fetchNextPage()}>
          Show more
        </button>
      )}
    </>
  );
}

function NoWorkflowsNotice({ isSearch, folder }: { isSearch: boolean; folder: string }) {
  if (isSearch) return <EmptyNotice title="No workflow has this name" />;
  if (folder !== '') return <EmptyNotice title="No workflow is in this folder" />;
  return (
    <EmptyNotice title="There is no workflow yet">
      <p>heddle deploy FILE deploys one.</p>
    </EmptyNotice>
  );
}

interface WorkflowItem {
  id: string;
  name: string;
  folderPath: string;
  isDeployed: boolean;
  runCount: number;
  lastRunAt: string | null;
  updatedAt: string;
}

interface TableProps {
  rows: readonly WorkflowItem[];
  selectedIds: ReadonlySet<string>;
  toggle: (id: string, isSelected: boolean) => void;
}

function WorkflowTable({ rows, selectedIds, toggle }: TableProps) {
  return (
    <PlainTable
      label="List of workflows"
      columns={['Selected', 'Name', 'Folder', 'Deployed', 'Runs', 'Last run', 'Changed']}
    >
      {rows.map(({ id, name, folderPath, isDeployed, runCount, lastRunAt, updatedAt }) => (
        <tr key={id}>
          <td>
            <input
              type="checkbox"
              aria-label={`Select ${name}`}
              checked={selectedIds.has(id)}
              onChange={({ target }) => toggle(id, target.checked)}
            />
          </td>
          <td>
            <Link to="/workflows/$workflowId" params={{ workflowId: id }} search={{}}>
              <bdi>{name}</bdi>
            </Link>
          </td>
          <td>
            <bdi>{folderPath === ROOT ? '–' : formatPath(folderPath)}</bdi>
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
