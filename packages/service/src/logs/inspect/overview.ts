import { toDiagram } from '@heddle/core/diagram';
import type { RunDetail } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { filesOf, outputOf, workflowOf } from '../views.ts';
import { snapshotOf } from '../logs.ts';
import type { LogServices } from '../logs.ts';
import { TRACE_BUDGET } from '../spans.ts';
import { workflowsOf } from '../store.ts';
import type { LogRow, LogTables } from '../tables.ts';

/** Maximum number of child runs in an overview. */
const MAX_CHILDREN = 1000;

/**
 * Returns the state of a run, its pauses, its child runs and its graph; undefined if the run was deleted in the
 * meantime. With `mayResume`, the pauses have their tokens, with which the caller can resume the run.
 */
export async function overviewOf(services: LogServices, row: LogRow, mayResume: boolean) {
  const { engine, db } = services;
  const root = await services.traces.read(row);
  if (!root) return undefined;
  const run = await engine.getRun(row.engine_id);
  const output = await outputOf(engine, row, { root, budget: { ...TRACE_BUDGET } });
  const parentId = run.parentRunId;
  const allChildren = await engine.childRuns(row.engine_id);
  const children = allChildren.slice(0, MAX_CHILDREN);
  const relatedRunIds = [...(parentId === null ? [] : [parentId]), ...children.map(({ runId }) => runId)];
  const rows = await readLogRows(db, row.workspace_id, relatedRunIds);
  const workflow = (await workflowsOf(db, [row.workflow_id])).get(row.workflow_id);
  const parent = parentId === null ? undefined : rows.get(parentId);
  return {
    runId: row.run_id,
    workspaceId: row.workspace_id,
    workflow: workflowOf(row, workflow),
    version: row.version,
    trigger: row.trigger,
    status: run.status,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    durationMs: run.durationMs,
    cost: row.cost < 0 ? null : row.cost,
    error: errorOf(run, row),
    files: filesOf(row, output),
    parent: parent ? { runId: parent.run_id, workflowId: parent.workflow_id } : null,
    pauses: run.pauses.map((pause) => pauseOf(pause, mayResume)),
    mayResume,
    children: children.flatMap(({ runId, blockId }) => {
      const child = rows.get(runId);
      return child
        ? [{ runId: child.run_id, workflowId: child.workflow_id, blockId, status: child.status }]
        : [];
    }),
    childCount: allChildren.length,
    graph: toDiagram(await snapshotOf(services, row)),
  };
}

function errorOf({ error }: RunDetail, { engine_id: engineRunId, run_id: runId }: LogRow) {
  if (!error) return null;
  const details = (error.details ?? {}) as { blockId?: unknown; blockName?: unknown };
  const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    code: error.code,
    // Callers know the run by their own id.
    message: error.message.replaceAll(engineRunId, runId),
    blockId: stringOrNull(details.blockId),
    blockName: stringOrNull(details.blockName),
  };
}

/**
 * Returns a pause. Readers who may not resume the run get neither the token nor the output, because links in the output
 * contain the token.
 */
function pauseOf(pause: RunDetail['pauses'][number], mayResume: boolean) {
  const { blockId, blockName, scope, kind, pausedAt, resumesAt, inputFormat, output, token } = pause;
  return {
    ...{ blockId, blockName, scope, kind, pausedAt, resumesAt, inputFormat },
    contextId: mayResume ? token : null,
    output: mayResume ? output : null,
  };
}

/** Returns the rows of runs of the workspace by the engine's ids. */
async function readLogRows(
  db: Kysely<LogTables>,
  workspaceId: string,
  engineRunIds: readonly string[],
): Promise<Map<string, LogRow>> {
  if (engineRunIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('run_logs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('engine_id', 'in', engineRunIds)
    .execute();
  return new Map(rows.map((row) => [row.engine_id, row]));
}
