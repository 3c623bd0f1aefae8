import type { Kysely } from 'kysely';
import type { HookTables } from './database.ts';
import type { ProviderHookRow } from './tables.ts';
import { hookWithNumericTimes } from './tables.ts';

/** The state of a desired hook. */
export interface HookState extends Pick<ProviderHookRow, 'error' | 'active_ms'> {
  /** Name of the block. */
  name: string;
  state: 'preparing' | 'active' | 'failed';
  isRetryable: boolean;
}

/**
 * Returns the reason, for users, why the desired hook is not active. A previous hook may still exist at its provider.
 */
export function hookProblem({ name, error, active_ms: activeMs }: HookState): string {
  const action = activeMs === null ? 'created' : 'checked';
  return `The webhook of "${name}" could not be ${action} at its provider: ${error ?? 'the reason is unknown'}`;
}

/** Returns the states of the desired hooks of a workflow. */
export async function findHookStates(db: Kysely<HookTables>, workflowId: string): Promise<HookState[]> {
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
    const { state, error, is_retryable: retryable, active_ms } = hookWithNumericTimes(row);
    return {
      ...{ name: row.name, error, active_ms, isRetryable: retryable === 1 },
      state: state as HookState['state'],
    };
  });
}
