import { randomBytes } from 'node:crypto';
import { conflict } from '@heddle/api/areas';
import type { WebhookType } from '@heddle/api/webhooks';
import type { JsonObject } from '@heddle/core';
import { sql, type Kysely } from 'kysely';
import type { Activation, PlannedTrigger } from '../activation.ts';
import type { WebhookTables } from './tables.ts';

type Db = Kysely<WebhookTables>;
type PlannedWebhook = PlannedTrigger & { type: WebhookType };

/** Number of random bytes of a path, so that the path cannot be guessed. */
const PATH_BYTES = 24;

function isWebhook(trigger: PlannedTrigger): trigger is PlannedWebhook {
  return trigger.type.kind === 'webhook';
}

/**
 * Assigns paths to the webhooks of a version, in the transaction that makes the version live. A webhook without a path
 * chosen by its author keeps its random path. Throws 409 for a path that another webhook has, or that belongs to
 * another workspace.
 */
export async function activatePaths(
  db: Db,
  { workflowId, workspaceId, triggers }: Activation,
): Promise<void> {
  // In a fixed order, so that deployments of several processes cannot deadlock.
  const webhooks = triggers.filter(isWebhook).toSorted((a, b) => (a.blockId < b.blockId ? -1 : 1));
  for (const { blockId, type, config } of webhooks) {
    const path = type.pathOf(config) ?? (await findOrCreateRandomPath(db, { workflowId, blockId }));
    await claimPath(db, { path, workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId });
  }
}

/**
 * Prefix of random paths. It distinguishes them from paths that authors choose: a webhook keeps its random path, but
 * not a path that its author has removed.
 */
const RANDOM_PREFIX = 'wh_';

async function findOrCreateRandomPath(
  db: Db,
  { workflowId, blockId }: { workflowId: string; blockId: string },
): Promise<string> {
  const existingRow = await db
    .selectFrom('webhook_paths')
    .select('path')
    .where('workflow_id', '=', workflowId)
    .where('block_id', '=', blockId)
    // In a LIKE pattern, `_` is special.
    .where(sql<string>`substr(path, 1, ${sql.lit(RANDOM_PREFIX.length)})`, '=', RANDOM_PREFIX)
    .orderBy('is_current', 'desc')
    .limit(1)
    .executeTakeFirst();
  return existingRow?.path ?? RANDOM_PREFIX + randomBytes(PATH_BYTES).toString('base64url');
}

type PathClaim = { path: string; workspace_id: string; workflow_id: string; block_id: string };

async function claimPath(db: Db, claim: PathClaim): Promise<void> {
  const { path, ...owner } = claim;
  await db
    .insertInto('webhook_paths')
    .values({ ...claim, is_current: 0 })
    .onConflict((builder) => builder.doNothing())
    .execute();
  // An update without a change locks the row: SQLite has no `select for update`.
  const currentRow = await db
    .updateTable('webhook_paths')
    .set((eb) => ({ is_current: eb.ref('is_current') }))
    .where('path', '=', path)
    .returningAll()
    .executeTakeFirstOrThrow();
  const isOwn = currentRow.workflow_id === owner.workflow_id && currentRow.block_id === owner.block_id;
  if (!isOwn && (currentRow.workspace_id !== owner.workspace_id || (await isInUse(db, currentRow))))
    throw conflict(`Webhook path already in use: ${path}`);
  await db
    .updateTable('webhook_paths')
    .set({ is_current: 0 })
    .where('workflow_id', '=', owner.workflow_id)
    .where('block_id', '=', owner.block_id)
    .where('path', '!=', path)
    .execute();
  await db
    .updateTable('webhook_paths')
    .set({ ...owner, is_current: 1 })
    .where('path', '=', path)
    .execute();
}

/** Returns whether a live version has the webhook to which the path belongs. */
async function isInUse(db: Db, claim: PathClaim & { is_current: number }): Promise<boolean> {
  if (claim.is_current === 0) return false;
  const row = await db
    .selectFrom('triggers')
    .select('id')
    .where('workflow_id', '=', claim.workflow_id)
    .where('block_id', '=', claim.block_id)
    .where('version', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns the webhooks of the live version of a workflow. */
export async function findWebhooks(
  db: Db,
  workflowId: string,
): Promise<{ blockId: string; type: string; path: string; config: JsonObject }[]> {
  const rows = await db
    .selectFrom('webhook_paths')
    .innerJoin('triggers', (join) =>
      join
        .onRef('triggers.workflow_id', '=', 'webhook_paths.workflow_id')
        .onRef('triggers.block_id', '=', 'webhook_paths.block_id'),
    )
    .select(['triggers.block_id', 'triggers.type', 'triggers.config', 'webhook_paths.path'])
    .where('webhook_paths.workflow_id', '=', workflowId)
    .where('webhook_paths.is_current', '=', 1)
    .where('triggers.version', 'is not', null)
    .orderBy('triggers.block_id')
    .execute();
  return rows.map(({ block_id: blockId, type, config, path }) => ({
    ...{ blockId, type, path, config: JSON.parse(config) as JsonObject },
  }));
}
