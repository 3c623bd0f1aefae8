import { useQuery } from '@tanstack/react-query';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { PlainTable } from '../components/plain-table.tsx';
import { Time } from '../components/format.tsx';
import { RunLink } from '../run/run-link.tsx';
import { useWorkspaceId } from '../shell/workspace.ts';
import { triggersQuery, webhooksQuery } from './queries.ts';
import type { Trigger, Webhook } from './queries.ts';

const COLUMNS = ['Trigger', 'Type', 'State', 'Next', 'Last', 'Last run', 'Health'];

/** The triggers of the workflow: their health, when they fire next, and their webhook registrations. */
export function Triggers({ workflowId }: { workflowId: string }) {
  const workspaceId = useWorkspaceId();
  const triggers = useQuery(triggersQuery(workspaceId, workflowId));
  const webhooks = useQuery(webhooksQuery(workspaceId, workflowId));
  const failedQuery = [triggers, webhooks].find(({ error }) => error !== null);
  if (failedQuery?.error) return <ErrorNotice error={failedQuery.error} retry={failedQuery.refetch} />;
  if (!triggers.data || !webhooks.data) return <Loading label="triggers" />;
  if (triggers.data.length === 0) return <p>The live version has no trigger.</p>;
  const hookByTriggerId = new Map(
    webhooks.data.flatMap(({ id, hook }) => (hook ? [[id, hook] as const] : [])),
  );
  return (
    <PlainTable
      label="List of triggers"
      columns={hookByTriggerId.size > 0 ? [...COLUMNS, 'Webhook at the provider'] : COLUMNS}
    >
      {triggers.data.map((trigger) => (
        <tr key={trigger.id}>
          <td>
            <bdi>{trigger.name}</bdi>
          </td>
          <td>{trigger.type.replaceAll('_', ' ')}</td>
          <td>
            {trigger.waitsFor === null ? trigger.state : `${trigger.state}, waits (${trigger.waitsFor})`}
          </td>
          <td>{trigger.nextDueAt === null ? '–' : <Time iso={trigger.nextDueAt} />}</td>
          <td>{trigger.lastDueAt === null ? '–' : <Time iso={trigger.lastDueAt} />}</td>
          <td>{trigger.lastRunId === null ? '–' : <RunLink runId={trigger.lastRunId} />}</td>
          <td>
            <Health health={trigger.health} hookError={hookByTriggerId.get(trigger.id)?.error ?? null} />
          </td>
          {hookByTriggerId.size > 0 && (
            <td>
              <Hook hook={hookByTriggerId.get(trigger.id)} />
            </td>
          )}
        </tr>
      ))}
    </PlainTable>
  );
}

/**
 * The number of consecutive failures, and the last error. The error of the webhook at the provider is omitted, because
 * it has its own column.
 */
function Health({ health, hookError }: Pick<Trigger, 'health'> & { hookError: string | null }) {
  const { failures, lastError } = health;
  const shownError = lastError === hookError ? null : lastError;
  if (failures === 0 && shownError === null) return 'no failure';
  return (
    <span className="error-text">
      {failures > 0 && `${failures} failed`}
      {failures > 0 && shownError !== null && ': '}
      <bdi>{shownError}</bdi>
    </span>
  );
}

const HOOK_STATES: { readonly [state in NonNullable<Webhook['hook']>['state']]: string } = {
  preparing: 'being created',
  active: 'active',
  failed: 'failed',
};

/** The state of the webhook at the provider, when it expires, and why it could not be created. */
function Hook({ hook }: { hook: Webhook['hook'] | undefined }) {
  if (!hook) return '–';
  const { state, error, expiresAt } = hook;
  return (
    <>
      {HOOK_STATES[state]}
      {expiresAt !== null && (
        <>
          , until <Time iso={expiresAt} />
        </>
      )}
      {error !== null && (
        <span className="error-text">
          : <bdi>{error}</bdi>
        </span>
      )}
    </>
  );
}
