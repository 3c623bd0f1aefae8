import type { Kysely } from 'kysely';
import type { WebhookRegistrationTables } from './database.ts';
import type { WebhookRegistrationRow } from './tables.ts';
import { registrationWithNumericTimes } from './tables.ts';

/** The state of a desired registration. */
export interface RegistrationState extends Pick<WebhookRegistrationRow, 'error' | 'active_ms'> {
  /** Name of the block. */
  name: string;
  state: 'preparing' | 'active' | 'failed';
  isRetryable: boolean;
}

/**
 * Returns the reason, for users, why the desired registration is not active. A previous registration may still exist at
 * its provider.
 */
export function registrationProblem({ name, error, active_ms: activeMs }: RegistrationState): string {
  const action = activeMs === null ? 'created' : 'checked';
  return `The webhook of "${name}" could not be ${action} at its provider: ${error ?? 'the reason is unknown'}`;
}

/** Returns the states of the desired registrations of a workflow. */
export async function findRegistrationStates(
  db: Kysely<WebhookRegistrationTables>,
  workflowId: string,
): Promise<RegistrationState[]> {
  const rows = await db
    .selectFrom('provider_hooks')
    .innerJoin('triggers', (join) =>
      join
        .onRef('triggers.workflow_id', '=', 'provider_hooks.workflow_id')
        .onRef('triggers.block_id', '=', 'provider_hooks.block_id'),
    )
    .selectAll('provider_hooks')
    .select('triggers.name')
    .where('provider_hooks.workflow_id', '=', workflowId)
    .where('provider_hooks.wanted', 'is not', null)
    .orderBy('provider_hooks.block_id')
    .execute();
  return rows.map((row) => {
    const { state, error, is_retryable: retryable, active_ms } = registrationWithNumericTimes(row);
    return {
      ...{ name: row.name, error, active_ms, isRetryable: retryable === 1 },
      state: state as RegistrationState['state'],
    };
  });
}
