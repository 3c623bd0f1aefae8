import { isLive } from './fire.ts';
import type { Db, LiveTrigger } from './fire.ts';
import { workspaceRank, withNumericTimes } from './rows.ts';
import type { TriggerRow } from './tables.ts';

/** A trigger of a live version that has a due time. */
export type DueTrigger = LiveTrigger & { due_ms: number };

/** Selects the triggers that a process handles. */
interface TriggerFilter {
  /** The types that this process supports. Another process on the database may support more. */
  types: ReadonlyMap<string, unknown>;
  /** Ids of workspaces whose triggers are skipped. */
  excludedWorkspaceIds?: readonly string[];
}

/** Returns due triggers. Workspaces take turns, so that none delays another. */
export async function findDueTriggers(
  db: Db,
  { types, excludedWorkspaceIds = [], nowMs, limit }: TriggerFilter & { nowMs: number; limit: number },
): Promise<DueTrigger[]> {
  const rows = await db
    .with('due', (query) =>
      query
        .selectFrom('triggers')
        .select('id')
        .select(workspaceRank('fire_ms', 'id'))
        .where('fire_ms', '<=', nowMs)
        .where('type', 'in', [...types.keys()])
        .$if(excludedWorkspaceIds.length > 0, (query) =>
          query.where('workspace_id', 'not in', excludedWorkspaceIds),
        ),
    )
    .selectFrom('due')
    .innerJoin('triggers', 'triggers.id', 'due.id')
    .selectAll('triggers')
    .orderBy('due.turn')
    .orderBy('triggers.id')
    .limit(limit)
    .execute();
  return rows.map(withNumericTimes).filter(isDueTrigger);
}

function isDueTrigger(row: TriggerRow): row is DueTrigger {
  return isLive(row) && row.due_ms !== null;
}

/** Returns when the next trigger is due; undefined if there is none. */
export async function findEarliestDueMs(
  db: Db,
  { types, excludedWorkspaceIds = [] }: TriggerFilter,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('triggers')
    .select('fire_ms')
    .where('fire_ms', 'is not', null)
    .where('type', 'in', [...types.keys()])
    .$if(excludedWorkspaceIds.length > 0, (query) =>
      query.where('workspace_id', 'not in', excludedWorkspaceIds),
    )
    .orderBy('fire_ms')
    .limit(1)
    .executeTakeFirst();
  return row?.fire_ms == null ? undefined : Number(row.fire_ms);
}
