import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { Suspense, lazy } from 'react';
import { AuditLog } from '../components/audit.tsx';
import { EmptyNotice, ErrorNotice, ErrorPage, Loading } from '../components/notice.tsx';
import { PlainTable } from '../components/plain-table.tsx';
import { Time } from '../components/format.tsx';
import type { WorkflowSearch } from '../shell/search.ts';
import { VersionComparison } from './compare.tsx';
import { deploymentQuery, versionsQuery, workflowQuery } from './queries.ts';
import { Triggers } from './triggers.tsx';

/** The code of the graph is large, so it is loaded after the page is shown. */
const WorkflowGraph = lazy(async () => ({
  default: (await import('./workflow-graph.tsx')).WorkflowGraph,
}));

const route = getRouteApi('/workflows/$workflowId');

/** One workflow: its graph, deployment, triggers, versions and audit log. */
export function WorkflowPage() {
  const { workflowId } = route.useParams();
  const workflow = useQuery(workflowQuery(workflowId));
  if (workflow.error) return <ErrorPage title="Workflow" error={workflow.error} retry={workflow.refetch} />;
  if (!workflow.data) return <Loading label="the workflow" />;
  const { name, description, folderPath, isDeployed, runCount } = workflow.data;
  return (
    <div className="page">
      <h1>
        <bdi>{name}</bdi>
      </h1>
      {description !== null && description !== '' && <p dir="auto">{description}</p>}
      <dl className="facts">
        <div>
          <dt>Folder</dt>
          <dd>
            <bdi>{folderPath}</bdi>
          </dd>
        </div>
        <div>
          <dt>Deployed</dt>
          <dd>{isDeployed ? 'yes' : 'no'}</dd>
        </div>
        <div>
          <dt>Runs</dt>
          <dd>{runCount}</dd>
        </div>
      </dl>
      <p>
        <Link to="/runs" search={{ workflowIds: workflowId }}>
          Show its runs
        </Link>
      </p>
      <GraphSection key={workflowId} workflowId={workflowId} />
      <h2>Deployment</h2>
      <Deployment workflowId={workflowId} />
      <h2>Triggers</h2>
      <Triggers workflowId={workflowId} />
      <h2>Versions</h2>
      <Versions workflowId={workflowId} />
      <AuditLog workspaceId={workflow.data.workspaceId} resourceId={workflowId} />
    </div>
  );
}

/** The graph of the live version, or of the version or draft that the user chooses. */
function GraphSection({ workflowId }: { workflowId: string }) {
  const { version, block } = route.useSearch();
  const navigate = route.useNavigate();
  const versions = useInfiniteQuery(versionsQuery(workflowId));
  const deployment = useQuery(deploymentQuery(workflowId));
  const failedQuery = [versions, deployment].find(({ error }) => error !== null);
  if (failedQuery?.error) return <ErrorNotice error={failedQuery.error} retry={failedQuery.refetch} />;
  if (!versions.data || !deployment.data) return <Loading label="the graph" />;
  const liveVersion = deployment.data.activeDeployment?.version;
  const shownVersion = version ?? liveVersion ?? 'draft';
  const loadedVersions = versions.data.pages.flatMap(({ data }) => data.map((item) => item.version));
  const versionOptions =
    typeof shownVersion === 'number' && !loadedVersions.includes(shownVersion)
      ? [...loadedVersions, shownVersion]
      : loadedVersions;
  const updateSearch = (change: WorkflowSearch) =>
    void navigate({ search: (previous) => ({ ...previous, ...change }), resetScroll: false });
  return (
    <>
      <h2>Graph</h2>
      <div className="filters">
        <label className="field">
          <span>Shown version</span>
          <select
            value={shownVersion}
            onChange={({ target: { value } }) =>
              updateSearch({ version: value === 'draft' ? value : Number(value) })
            }
          >
            <option value="draft">Draft</option>
            {versionOptions.map((versionOption) => (
              <option key={versionOption} value={versionOption}>
                Version {versionOption}
                {versionOption === liveVersion && ' (live)'}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Suspense fallback={<Loading label="the graph" />}>
        <WorkflowGraph
          {...{ workflowId, updateSearch }}
          version={shownVersion === 'draft' ? undefined : shownVersion}
          blockId={block}
        />
      </Suspense>
    </>
  );
}

/** Shows whether the draft differs from the live version, and how the latest deployment ended. */
function Deployment({ workflowId }: { workflowId: string }) {
  const deployment = useQuery(deploymentQuery(workflowId));
  if (deployment.error) return <ErrorNotice error={deployment.error} retry={deployment.refetch} />;
  if (deployment.isPending) return <Loading label="the deployment" />;
  const {
    activeDeployment: liveDeployment,
    latestDeploymentAttempt: attempt,
    needsRedeployment,
  } = deployment.data;
  return (
    <dl className="facts">
      <div>
        <dt>Live version</dt>
        <dd>{liveDeployment?.version ?? 'none'}</dd>
      </div>
      <div>
        <dt>Draft</dt>
        <dd>
          {!liveDeployment
            ? 'not live'
            : needsRedeployment
              ? 'differs from the live version'
              : 'equals the live version'}
        </dd>
      </div>
      {attempt && (
        <div>
          <dt>Latest attempt</dt>
          <dd>
            {attempt.action} version {attempt.version}: {attempt.status}, <Time iso={attempt.requestedAt} />
            {attempt.error && (
              <bdi className="error-text">
                {attempt.error.code}: {attempt.error.message}
              </bdi>
            )}
          </dd>
        </div>
      )}
    </dl>
  );
}

function Versions({ workflowId }: { workflowId: string }) {
  const versions = useInfiniteQuery(versionsQuery(workflowId));
  const rows = versions.data?.pages.flatMap(({ data }) => data) ?? [];
  if (versions.error) return <ErrorNotice error={versions.error} retry={versions.refetch} />;
  if (versions.isPending) return <Loading label="versions" />;
  if (rows.length === 0) return <EmptyNotice title="The workflow has never been deployed" />;
  return (
    <>
      <PlainTable label="List of versions" columns={['Version', 'Name', 'Deployed', 'State']}>
        {rows.map(({ id, version, name, createdAt, isActive }) => (
          <tr key={id}>
            <td className="number">{version}</td>
            <td>
              <bdi>{name ?? '–'}</bdi>
            </td>
            <td>
              <Time iso={createdAt} />
            </td>
            <td>{isActive ? 'live' : ''}</td>
          </tr>
        ))}
      </PlainTable>
      {versions.hasNextPage && (
        <button type="button" className="button" onClick={() => void versions.fetchNextPage()}>
          Show more
        </button>
      )}
      {rows.length > 1 && (
        <VersionComparison workflowId={workflowId} versions={rows.map(({ version }) => version)} />
      )}
    </>
  );
}
