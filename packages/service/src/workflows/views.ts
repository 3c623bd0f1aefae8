import type { ListedWorkflow } from '../store/list-query.ts';
import type { VersionRow, WorkflowRow } from '../store/schema.ts';
import { registrationProblem } from '../triggers/registrations/views.ts';
import type { TriggerState } from '../triggers/triggers.ts';
import type { TriggerType } from '../triggers/types.ts';
import type { WorkflowServices } from './context.ts';
import { hashGraph, readGraph } from './graph.ts';

/** Returns the workflows as lists show them. One query reads the run counts of all of them. */
export async function toListItems(
  { store }: Pick<WorkflowServices, 'store'>,
  rows: readonly ListedWorkflow[],
) {
  const runCountById = await store.workflows.readRunCounts(rows.map(({ id }) => id));
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    description: row.description,
    folderPath: row.folder_path,
    workspaceId: row.workspace_id,
    isDeployed: row.active_version !== null,
    deployedAt: row.deployed_at,
    runCount: runCountById.get(row.id)?.count ?? 0,
    lastRunAt: runCountById.get(row.id)?.lastStartedAt ?? null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }));
}

const NO_TRIGGERS: Pick<TriggerState, 'kinds' | 'registrations'> = { kinds: new Set(), registrations: [] };

/** Returns the state of a workflow's deployment. `kinds`, `registrations`: the triggers of its live version. */
export function deploymentOf(
  row: WorkflowRow,
  activeVersionRow: VersionRow | undefined,
  { kinds, registrations }: Pick<TriggerState, 'kinds' | 'registrations'> = NO_TRIGGERS,
) {
  const deployedAt = row.deployed_at ?? activeVersionRow?.created_at ?? '';
  // A deployed version is live from its creation. An activated version became live later.
  const action: 'deploy' | 'activate' = deployedAt === activeVersionRow?.created_at ? 'deploy' : 'activate';
  const version = activeVersionRow && {
    deploymentVersionId: versionId(activeVersionRow),
    version: activeVersionRow.version,
  };
  // Triggers are activated with the version, in one transaction. Webhooks are registered with their providers
  // afterwards.
  const readinessOf = (...triggerKinds: TriggerType['kind'][]): string =>
    triggerKinds.some((kind) => kinds.has(kind)) ? 'ready' : 'not_applicable';
  // `webhooks` includes feeds, because both start runs for events of other systems.
  const readiness = {
    webhooks: registrations.some(({ state }) => state !== 'active')
      ? 'pending'
      : readinessOf('webhook', 'feed'),
    schedules: readinessOf('schedule'),
    mcp: 'not_applicable',
  };
  return {
    id: row.id,
    isDeployed: activeVersionRow !== undefined,
    deployedAt: activeVersionRow ? deployedAt : null,
    warnings: [] as string[],
    activeDeployment: version ? { ...version, deployedAt } : null,
    latestDeploymentAttempt: version
      ? {
          id: `${version.deploymentVersionId}@${deployedAt}`,
          ...version,
          action,
          isCurrent: true,
          readiness,
          requestedAt: deployedAt,
          ...progressOf(registrations, deployedAt),
        }
      : null,
  };
}

/**
 * Returns the progress of a deployment. The deployment is active when all its webhook registrations are active,
 * because a missing registration receives nothing.
 */
function progressOf(registrations: TriggerState['registrations'], deployedAt: string) {
  const failedRegistration = registrations.find(({ state }) => state === 'failed');
  if (failedRegistration) {
    const error = {
      code: 'HOOK_FAILED',
      message: registrationProblem(failedRegistration),
      retryable: failedRegistration.isRetryable,
    };
    return { status: 'failed' as const, activatedAt: null, error };
  }
  if (registrations.some(({ state }) => state === 'preparing'))
    return { status: 'preparing' as const, activatedAt: null, error: null };
  const lastActivationMs = Math.max(
    Date.parse(deployedAt),
    ...registrations.map(({ active_ms: ms }) => ms ?? 0),
  );
  const activatedAt = registrations.length === 0 ? deployedAt : new Date(lastActivationMs).toISOString();
  return { status: 'active' as const, activatedAt, error: null };
}

export function versionOf(version: VersionRow, activeVersionNumber: number | null) {
  return {
    id: versionId(version),
    version: version.version,
    name: version.name,
    description: version.description,
    isActive: version.version === activeVersionNumber,
    createdAt: version.created_at,
    deployedBy: version.deployed_by,
  };
}

/** Returns whether the draft runs differently from the live version. */
export function needsRedeployment(row: WorkflowRow, activeVersionRow: VersionRow | undefined): boolean {
  return (
    activeVersionRow !== undefined &&
    hashGraph(readGraph(row.state)) !== hashGraph(readGraph(activeVersionRow.state))
  );
}

/** Returns the live version; undefined if the workflow is not deployed. */
export async function findActiveVersion(
  { store }: Pick<WorkflowServices, 'store'>,
  row: WorkflowRow,
): Promise<VersionRow | undefined> {
  return row.active_version === null ? undefined : store.workflows.findVersion(row.id, row.active_version);
}

function versionId(version: VersionRow): string {
  return `${version.workflow_id}:${version.version}`;
}
