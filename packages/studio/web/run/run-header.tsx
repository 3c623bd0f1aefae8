import { useQueryClient } from '@tanstack/react-query';
import { cancelRun } from '../api/actions.ts';
import { isNonTerminal } from '../api/queries.ts';
import type { Overview } from '../api/queries.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { Status } from '../components/status.tsx';
import { CopyButtons } from './copy-buttons.tsx';
import { RunAgainButton } from './rerun.tsx';
import { RunLink } from './run-link.tsx';
import { Time, formatCost, formatDuration } from '../components/format.tsx';

/** The facts of the run, its error, its origin, and the actions on it. */
export function RunHeader({ run }: { run: Overview }) {
  const { workflow, startedAt, durationMs, cost, version, trigger, parent, children, childCount, error } =
    run;
  return (
    <div className="run-header">
      <div className="run-title">
        <h1>
          <bdi>{workflow.name}</bdi>
        </h1>
        <Status status={run.status} />
        <div className="button-row">
          <CopyButtons run={run} />
          <RunActions run={run} />
        </div>
      </div>
      <dl className="facts">
        <Fact name="Run">
          <span className="mono">
            <bdi>{run.runId}</bdi>
          </span>
        </Fact>
        <Fact name="Version">{version ?? 'draft'}</Fact>
        <Fact name="Trigger">{trigger}</Fact>
        {startedAt && (
          <Fact name="Started">
            <Time iso={startedAt} />
          </Fact>
        )}
        {durationMs !== null && <Fact name="Duration">{formatDuration(durationMs)}</Fact>}
        {cost !== null && <Fact name="Cost">{formatCost(cost)}</Fact>}
        {parent && (
          <Fact name="Called by">
            <RunLink runId={parent.runId} />
          </Fact>
        )}
        {childCount > 0 && (
          <Fact name={`Called (${childCount})`}>
            {children.slice(0, 5).map(({ runId }) => (
              <RunLink key={runId} runId={runId} />
            ))}
          </Fact>
        )}
      </dl>
      {error && (
        <p className="run-error" role="note">
          <strong>{error.blockName ? <bdi>{error.blockName}</bdi> : 'The run'} failed</strong> ({error.code}):{' '}
          <bdi>{error.message}</bdi>
        </p>
      )}
    </div>
  );
}

/** A name with its value, in a list of facts. */
export function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function RunActions({ run }: { run: Overview }) {
  const queryClient = useQueryClient();
  if (!run.mayResume || run.workflow.id === null) return null;
  const runRef = { runId: run.runId, workflowId: run.workflow.id };
  if (isNonTerminal(run.status))
    return (
      <ConfirmButton
        label="Cancel run"
        title="Cancel this run?"
        danger
        onConfirm={async () => {
          await cancelRun(runRef);
          await queryClient.invalidateQueries({ queryKey: ['run', run.runId] });
        }}
      >
        <p>Running blocks are stopped. The run cannot be continued.</p>
      </ConfirmButton>
    );
  return <RunAgainButton run={run} />;
}
