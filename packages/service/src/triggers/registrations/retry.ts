import { sql } from 'kysely';
import type { ExpressionBuilder, Kysely } from 'kysely';
import { containsCondition } from '../../paging.ts';
import { isPostgres } from '../../store/dialect.ts';
import type { WebhookRegistrationTables } from './database.ts';

/** Delay of the first retry after a retryable failure. It doubles with each retry. */
export const RETRY_MS = 5000;
export const MAX_RETRY_MS = 3_600_000;
/** Number of failed attempts after which the delay is `MAX_RETRY_MS`. */
const ATTEMPTS_UNTIL_MAX_DELAY = Math.ceil(Math.log2(MAX_RETRY_MS / RETRY_MS)) + 1;

/**
 * Brings forward the next attempt for the registrations that use a stored credential, in the transaction that stores
 * its new secret. A refused registration gets the delay of a retryable failure. The delay grows with each refusal, even
 * if the secret changes often. An attempt in progress may still use the previous secret. It detects the change by
 * `look_ms`, which is always changed.
 */
export async function retryRegistrations(
  transaction: unknown,
  { workspaceId, credentialId }: { workspaceId: string; credentialId: string },
): Promise<void> {
  const db = transaction as Kysely<WebhookRegistrationTables>;
  const usesCredential = (eb: ExpressionBuilder<WebhookRegistrationTables, 'provider_hooks'>) =>
    eb.and([
      eb('workspace_id', '=', workspaceId),
      eb('workflow_id', 'in', (inner) =>
        inner
          .selectFrom('triggers')
          .select('triggers.workflow_id')
          .where('triggers.workspace_id', '=', workspaceId)
          .where('triggers.version', 'is not', null),
      ),
      eb('look_ms', 'is not', null),
      // The configuration is stored as JSON, so the id is in it as a JSON string.
      containsCondition('wanted', JSON.stringify(credentialId)),
    ]);
  // Locks the rows in the same order as a deployment, so that transactions of several processes cannot deadlock.
  const registrations = await db
    .selectFrom('provider_hooks')
    .select('block_id')
    .where(usesCredential)
    .orderBy('workflow_id')
    .orderBy('block_id')
    .$if(isPostgres(db), (query) => query.forUpdate())
    .execute();
  if (registrations.length === 0) return;
  await db
    .updateTable('provider_hooks')
    .set({
      look_ms: sql<number>`case when ${isRefusedUntilLater()} then ${retryAtMs()} else look_ms - 1 end`,
    })
    .where(usesCredential)
    .execute();
}

/** Returns a condition: the last attempt was refused, and the next one is later than after a retryable failure. */
function isRefusedUntilLater() {
  return sql<boolean>`error is not null and is_retryable = 0 and ${retryAtMs()} < look_ms`;
}

/** Returns an expression for the time of the next attempt if the last failure had been retryable. */
function retryAtMs() {
  const [firstMs, maxMs, attemptsUntilMaxDelay] = [
    sql.lit(RETRY_MS),
    sql.lit(MAX_RETRY_MS),
    sql.lit(ATTEMPTS_UNTIL_MAX_DELAY),
  ];
  return sql<number>`checked_ms + case when attempts >= ${attemptsUntilMaxDelay} then ${maxMs} else ${firstMs} * (1 << (attempts - 1)) end`;
}
