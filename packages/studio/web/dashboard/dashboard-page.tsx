import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { statsQuery } from '../api/queries.ts';
import type { LogStats } from '../api/queries.ts';
import { EmptyNotice, ErrorNotice, Loading } from '../components/notice.tsx';
import { formatCost, formatDuration } from '../components/format.tsx';
import { PERIODS, periodStart } from '../runs/periods.ts';
import { useWorkspaceId } from '../shell/workspace.ts';
import { RunsChart } from './runs-chart.tsx';
import { PlainTable } from '../components/plain-table.tsx';

/** Runs, failures and durations of a period, in total and by workflow. */
export function DashboardPage() {
  const workspaceId = useWorkspaceId();
  const [period, setPeriod] = useState('24h');
  const stats = useQuery(
    statsQuery({ workspaceId, startDate: periodStart(period), segmentCount: 48, percentiles: true }),
  );
  return (
    <div className="page">
      <h1>Dashboard</h1>
      <div className="filters">
        <label className="field">
          <span>Period</span>
          <select value={period} onChange={({ target }) => setPeriod(target.value)}>
            {PERIODS.map(({ id, label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      {stats.error && <ErrorNotice error={stats.error} retry={stats.refetch} />}
      {stats.isPending && <Loading label="statistics" />}
      {stats.data && <Stats stats={stats.data} />}
    </div>
  );
}

function Stats({ stats }: { stats: LogStats }) {
  const { totalRuns, totalErrors, p50Latency = 0, p99Latency = 0, totalCost, workflows } = stats;
  if (totalRuns === 0) return <EmptyNotice title="Nothing ran in this period" />;
  const successPercent = ((totalRuns - totalErrors) / totalRuns) * 100;
  return (
    <>
      <dl className="tiles">
        <div className="tile">
          <dt>Runs</dt>
          <dd>{totalRuns}</dd>
        </div>
        <div className="tile">
          <dt>Failed</dt>
          <dd>{totalErrors}</dd>
        </div>
        <div className="tile">
          <dt>Succeeded</dt>
          <dd>{successPercent.toFixed(1)} %</dd>
        </div>
        <div className="tile">
          <dt>Median duration</dt>
          <dd>{formatDuration(p50Latency)}</dd>
        </div>
        <div className="tile">
          <dt>99th percentile</dt>
          <dd>{formatDuration(p99Latency)}</dd>
        </div>
        <div className="tile">
          <dt>Cost</dt>
          <dd>{formatCost(totalCost)}</dd>
        </div>
      </dl>
      <RunsChart segments={stats.aggregateSegments} />
      <WorkflowTable workflows={workflows} />
    </>
  );
}

function WorkflowTable({ workflows }: Pick<LogStats, 'workflows'>) {
  return (
    <PlainTable label="Workflows" columns={['Workflow', 'Runs', 'Failed', 'Succeeded', 'Cost']}>
      {workflows.map(
        ({
          workflowId,
          workflowName,
          totalExecutions,
          totalSuccessful,
          overallSuccessRate,
          totalCost: cost,
        }) => (
          <tr key={workflowId}>
            <td>
              <Link to="/runs" search={{ workflowIds: workflowId }}>
                <bdi>{workflowName}</bdi>
              </Link>
            </td>
            <td className="number">{totalExecutions}</td>
            <td className="number">{totalExecutions - totalSuccessful}</td>
            <td className="number">{overallSuccessRate.toFixed(1)} %</td>
            <td className="number">{formatCost(cost)}</td>
          </tr>
        ),
      )}
    </PlainTable>
  );
}
