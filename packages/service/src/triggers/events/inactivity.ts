import type { Kysely } from 'kysely';
import type { LiveTrigger } from '../fire.ts';
import type { EventRule } from '@heddle/engine/triggers';
import type { EventTables } from './tables.ts';

/** Interval at which a trigger checks for workflows without runs. */
export const INACTIVITY_CHECK_INTERVAL_MS = 300_000;
/** Maximum number of workflows that one check returns. The next check returns the others. */
const MAX_WORKFLOWS = 100;

/**
 * Returns the watched workflows that were deployed before the period of the rule and have had no run in this period.
 * Workflows in a cooldown are skipped. Returns none for a trigger that was created in this period.
 */
export async function findInactiveWorkflows(
  db: Kysely<EventTables>,
  { trigger, rule }: { trigger: LiveTrigger; rule: EventRule & { event: 'no_activity' } },
  nowMs: number,
): Promise<{ id: string; name: string }[]> {
  const sinceMs = nowMs - rule.ms;
  if (trigger.created_ms > sinceMs) return [];
  // Times of workflows and of their runs are strings in the same format, which sorts by time.
  const sinceIso = new Date(sinceMs).toISOString();
  return db
    .selectFrom('workflows')
    .leftJoin('run_counts', 'run_counts.workflow_id', 'workflows.id')
    .select(['workflows.id', 'workflows.name'])
    .where('workflows.workspace_id', '=', trigger.workspace_id)
    .where('workflows.id', '!=', trigger.workflow_id)
    .where('workflows.active_version', 'is not', null)
    .where('workflows.archived_at', 'is', null)
    .where('workflows.deployed_at', '<=', sinceIso)
    .where((eb) => eb.or([eb('run_counts.last_at', 'is', null), eb('run_counts.last_at', '<=', sinceIso)]))
    .$if(rule.workflowIds.length > 0, (query) => query.where('workflows.id', 'in', [...rule.workflowIds]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('event_cooldowns')
            .select('event_cooldowns.source_id')
            .whereRef('event_cooldowns.source_id', '=', 'workflows.id')
            .where('event_cooldowns.workflow_id', '=', trigger.workflow_id)
            .where('event_cooldowns.block_id', '=', trigger.block_id)
            .where('event_cooldowns.until_ms', '>', nowMs),
        ),
      ),
    )
    .orderBy('workflows.id')
    .limit(MAX_WORKFLOWS)
    .execute();
}
