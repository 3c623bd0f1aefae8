import type { JsonObject } from '@heddle/core';
import { WEBHOOK_PREFIX } from '@heddle/api/webhooks';
import type { Kysely } from 'kysely';
import { isPostgres } from '../../store/dialect.ts';
import { lockTriggers } from '../rows.ts';
import type { TriggerType } from '../types.ts';
import type { WebhookRegistrationTables } from './database.ts';
import type { WebhookRegistrationRow } from './tables.ts';

type Db = Kysely<WebhookRegistrationTables>;

/** The registration (a webhook at a provider) that a trigger needs. */
export interface DesiredRegistration {
  /** Type of the trigger. */
  type: string;
  /** Its configuration, without its secret. */
  config: JsonObject;
  /** The URL at which the trigger receives requests; empty: the server has no public base URL. */
  url: string;
}

/** A registration that exists at the provider, or may exist. */
export interface ActualRegistration extends DesiredRegistration {
  /** Where it exists at the provider, such as the name of a repository. */
  place: string;
  /** The provider's id; null: it is unknown whether the provider has the registration. */
  hookId: string | null;
}

/** The public base URL of the server, or the reason why registrations cannot be created. */
export type RegistrationSettings = { origin: string } | { unavailableReason: string };

export interface RegistrationDependencies {
  types: ReadonlyMap<string, TriggerType>;
  settings: RegistrationSettings;
}

/** A trigger that needs a registration. */
interface TriggerWithRegistration {
  id: string;
  workspaceId: string;
  workflowId: string;
  blockId: string;
  provider: string;
  /** The DesiredRegistration as JSON. */
  wanted: string;
}

/**
 * Records the registrations that a workflow needs for the active triggers of its live version, in the transaction that
 * changes its triggers. A failed registration is retried.
 */
export async function recordDesiredRegistrations(
  db: Db,
  dependencies: RegistrationDependencies,
  { workflowId, nowMs }: { workflowId: string; nowMs: number },
): Promise<void> {
  const storedRows = await db
    .selectFrom('provider_hooks')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .orderBy('block_id')
    .$if(isPostgres(db), (query) => query.forUpdate())
    .execute();
  const triggers = await findTriggersWithRegistration(db, dependencies, workflowId);
  if (storedRows.length === 0 && triggers.length === 0) return;
  const unmatchedRows = new Map(storedRows.map((row) => [row.block_id, row]));
  for (const trigger of triggers) {
    const row = unmatchedRows.get(trigger.blockId);
    unmatchedRows.delete(trigger.blockId);
    if (row && isUnchanged(row, trigger, dependencies.settings)) continue;
    await upsertRegistration(db, dependencies.settings, { trigger, nowMs });
  }
  for (const row of unmatchedRows.values()) if (row.wanted !== null) await removeRegistration(db, row, nowMs);
}

/**
 * Returns whether the registration needs no change. A process without a public base URL keeps the registrations that
 * another process has created.
 */
function isUnchanged(
  row: WebhookRegistrationRow,
  trigger: TriggerWithRegistration,
  settings: RegistrationSettings,
): boolean {
  if ('origin' in settings)
    return row.wanted === trigger.wanted && (row.state === 'active' || row.state === 'preparing');
  if (row.wanted === null) return false;
  const storedRegistration = JSON.parse(row.wanted) as DesiredRegistration;
  return (
    storedRegistration.url !== '' && JSON.stringify({ ...storedRegistration, url: '' }) === trigger.wanted
  );
}

/** Records the desired registrations again if the server's public base URL has changed. */
export async function refreshRegistrationUrls(
  db: Db,
  dependencies: RegistrationDependencies,
  now: () => number,
): Promise<void> {
  if ('unavailableReason' in dependencies.settings) return;
  const triggers = await findTriggersWithRegistration(db, dependencies);
  if (triggers.length === 0) return;
  const rows = await db.selectFrom('provider_hooks').select(['workflow_id', 'block_id', 'wanted']).execute();
  const storedRegistrations = new Map(
    rows.map((row) => [JSON.stringify([row.workflow_id, row.block_id]), row.wanted]),
  );
  const changedTriggers = triggers.filter(
    (trigger) =>
      storedRegistrations.get(JSON.stringify([trigger.workflowId, trigger.blockId])) !== trigger.wanted,
  );
  for (const workflowId of new Set(changedTriggers.map((trigger) => trigger.workflowId)))
    await db.transaction().execute(async (tx) => {
      // A deployment locks the rows of its triggers too, so it happens entirely before or after this.
      await lockTriggers(tx as never, workflowId).execute();
      await recordDesiredRegistrations(tx, dependencies, { workflowId, nowMs: now() });
    });
}

async function upsertRegistration(
  db: Db,
  settings: RegistrationSettings,
  { trigger, nowMs }: { trigger: TriggerWithRegistration; nowMs: number },
): Promise<void> {
  const { workspaceId, workflowId, blockId } = trigger;
  const hasOrigin = 'origin' in settings;
  const change = {
    ...{
      wanted: trigger.wanted,
      trigger_id: trigger.id,
      provider: trigger.provider,
      attempts: 0,
      is_retryable: 0,
      active_ms: null,
    },
    state: hasOrigin ? 'preparing' : 'failed',
    error: hasOrigin ? null : settings.unavailableReason,
    // Without a public base URL, no work is due, so existing registrations are kept.
    look_ms: hasOrigin ? nowMs : null,
  } as const;
  const emptyColumns = { key_id: null, sealed: null, expires_ms: null, checked_ms: null };
  await db
    .insertInto('provider_hooks')
    .values({
      ...{ workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId },
      ...{ ...change, ...emptyColumns, present: '[]', revision: 1, lease_id: null, lease_ms: null },
    })
    .onConflict((conflict) =>
      conflict.columns(['workflow_id', 'block_id']).doUpdateSet((eb) => ({
        ...{ ...change, workspace_id: workspaceId },
        revision: eb('provider_hooks.revision', '+', 1),
      })),
    )
    .execute();
}

async function removeRegistration(
  db: Db,
  { workflow_id, block_id }: WebhookRegistrationRow,
  nowMs: number,
): Promise<void> {
  await db
    .updateTable('provider_hooks')
    .set((eb) => ({
      ...{ wanted: null, state: 'removing', error: null, is_retryable: 0, attempts: 0, look_ms: nowMs },
      ...{ active_ms: null, revision: eb('revision', '+', 1) },
    }))
    .where('workflow_id', '=', workflow_id)
    .where('block_id', '=', block_id)
    .execute();
}

/** Returns the ids of the archived workflows of a workspace that still have desired registrations. */
export async function findArchivedWorkflowIdsWithRegistrations(
  db: Db,
  workspaceId: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom('provider_hooks')
    .innerJoin('workflows', 'workflows.id', 'provider_hooks.workflow_id')
    .select('provider_hooks.workflow_id')
    .distinct()
    .where('provider_hooks.workspace_id', '=', workspaceId)
    .where('provider_hooks.wanted', 'is not', null)
    .where('workflows.archived_at', 'is not', null)
    .orderBy('provider_hooks.workflow_id')
    .execute();
  return rows.map(({ workflow_id: id }) => id);
}

/** Returns the active triggers of live versions that need a registration. */
async function findTriggersWithRegistration(
  db: Db,
  { types, settings }: RegistrationDependencies,
  workflowId?: string,
): Promise<TriggerWithRegistration[]> {
  const typeNames = [...types.values()].flatMap((type) =>
    type.kind === 'webhook' && type.registrar ? [type.type] : [],
  );
  if (typeNames.length === 0) return [];
  const rows = await db
    .selectFrom('triggers')
    .innerJoin('workflows', (join) =>
      join
        .onRef('workflows.id', '=', 'triggers.workflow_id')
        .onRef('workflows.active_version', '=', 'triggers.version'),
    )
    .innerJoin('webhook_paths', (join) =>
      join
        .onRef('webhook_paths.workflow_id', '=', 'triggers.workflow_id')
        .onRef('webhook_paths.block_id', '=', 'triggers.block_id'),
    )
    .select(['triggers.id', 'triggers.workspace_id', 'triggers.workflow_id', 'triggers.block_id'])
    .select(['triggers.type', 'triggers.config', 'webhook_paths.path'])
    .$if(workflowId !== undefined, (query) => query.where('triggers.workflow_id', '=', workflowId ?? ''))
    .where('triggers.type', 'in', typeNames)
    .where('triggers.state', '=', 'active')
    .where('webhook_paths.is_current', '=', 1)
    .where('workflows.archived_at', 'is', null)
    .orderBy('triggers.id')
    .execute();
  return rows.flatMap(({ id, type: name, path, ...row }) => {
    const { secret: _secret, ...config } = JSON.parse(row.config) as JsonObject;
    const type = types.get(name);
    if (type?.kind !== 'webhook' || type.registrar?.locationOf(config) === undefined) return [];
    const url = 'origin' in settings ? settings.origin + WEBHOOK_PREFIX + path : '';
    const wanted = JSON.stringify({ type: name, config, url } satisfies DesiredRegistration);
    const ids = { workspaceId: row.workspace_id, workflowId: row.workflow_id, blockId: row.block_id };
    return { id, ...ids, provider: type.providerOf(config), wanted };
  });
}
