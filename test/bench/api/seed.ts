import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { BUCKET_WIDTHS_MS } from '../../../packages/service/src/logs/totals.ts';

const RUN_COUNT = 100_000;
const WORKFLOW_COUNT = 10_000;
/** Characters of each draft. Lists do not read drafts. */
const DRAFT_CHARS = 4000;

/** Adds 100,000 runs of several workflows to the log of a workspace. */
export async function seedLog(
  db: Kysely<unknown>,
  { workspaceId, workflowId }: { workspaceId: string; workflowId: string },
): Promise<void> {
  await sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(RUN_COUNT)})
    insert into run_logs (engine_id, run_id, workspace_id, workflow_id, status, level, trigger, started_ms, ended_ms,
      duration_ms, cost, bytes, is_child, seq)
    select 'r' || n, 'r' || n, ${workspaceId}, case n % 10 when 0 then ${workflowId} else 'w' || (n % 10) end,
      case n % 50 when 0 then 'failed' else 'completed' end, case n % 50 when 0 then 'error' else 'info' end,
      case n % 3 when 0 then 'manual' else 'api' end, n * 1000, n * 1000 + n % 700, n % 700, -1, 1, 0, 1
    from numbers`.execute(db);
  // The service does this in the background, a few hundred runs at a time.
  for (const widthMs of BUCKET_WIDTHS_MS)
    await sql`insert into run_totals (workspace_id, width_ms, start_ms, workflow_id, trigger, level, runs, duration_ms, timed,
        cost_micros)
      select workspace_id, ${sql.lit(widthMs)}, started_ms / ${sql.lit(widthMs)} * ${sql.lit(widthMs)}, workflow_id, trigger, level,
        count(*), sum(duration_ms), count(*), 0
      from run_logs where totalled = 0 and ended_ms is not null group by 1, 2, 3, 4, 5, 6`.execute(db);
  await sql`update run_logs set totalled = 1 where ended_ms is not null`.execute(db);
}

/** Adds 10,000 workflows to a workspace, in 100 folders; a third are deployed. */
export async function seedWorkflows(db: Kysely<unknown>, workspaceId: string): Promise<void> {
  const draft = JSON.stringify({ blocks: {}, edges: [], notes: 'x'.repeat(DRAFT_CHARS) });
  await sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(WORKFLOW_COUNT)})
    insert into workflows (id, workspace_id, name, folder_path, position, state, active_version, public_api, created_at,
      updated_at)
    select 'w' || n, ${workspaceId}, 'Workflow ' || (n * 7919 % ${sql.lit(WORKFLOW_COUNT)}), '/Folder ' || (n % 100), n, ${draft},
      case n % 3 when 0 then 1 end, 0, '2026-01-01T00:00:00.000Z',
      '2026-01-' || (10 + n % 20) || 'T00:00:00.000Z'
    from numbers`.execute(db);
}
