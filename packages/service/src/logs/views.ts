import { isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import type { Span } from '@heddle/core/run';
import type { LogEntry } from './schemas.ts';
import { consumeBytes, readTraceSpans } from './spans.ts';
import type { TraceBudget } from './spans.ts';
import type { LogWorkflow } from './store.ts';
import type { LogRow } from './tables.ts';
import { costMicrosOf } from './usage.ts';

type CommonFields = Omit<LogEntry, 'kind' | 'workflow' | 'finalOutput' | 'traceSpans'>;

/** The parts of each run that a list contains besides its row. */
export interface EntryOptions {
  isFull: boolean;
  includeTraceSpans: boolean;
  includeFinalOutput: boolean;
}

type EngineReader = Pick<Engine, 'getRun' | 'getTrace' | 'readValue'>;

/** Returns the fields that entries and details have in common. */
export function commonFieldsOf(row: LogRow, files: CommonFields['files']): CommonFields {
  return {
    runId: row.run_id,
    workflowId: row.workflow_id,
    deploymentVersionId: row.version === null ? null : `${row.workflow_id}:${row.version}`,
    status: row.status,
    level: row.level,
    trigger: row.trigger,
    startedAt: new Date(row.started_ms).toISOString(),
    endedAt: row.ended_ms === null ? null : new Date(row.ended_ms).toISOString(),
    totalDurationMs: row.duration_ms < 0 ? null : row.duration_ms,
    cost: row.cost < 0 ? null : { total: row.cost, totalMicros: costMicrosOf(row.cost) },
    files,
  };
}

/** Returns the workflow of a log entry. Undefined `workflow`: it was deleted permanently. */
export function workflowOf(row: LogRow, workflow: LogWorkflow | undefined) {
  return {
    id: workflow?.id ?? null,
    name: workflow?.name ?? row.workflow_id,
    description: workflow?.description ?? null,
    deleted: workflow === undefined || workflow.archived_at !== null,
  };
}

/** Returns an entry of a list. Reduces `budget` by the size of the values that it reads. */
export async function entryOf(
  engine: EngineReader,
  { row, workflow }: { row: LogRow; workflow: LogWorkflow | undefined },
  { options, budget }: { options: EntryOptions; budget: TraceBudget },
): Promise<LogEntry> {
  const workflowField = options.isFull ? { workflow: workflowOf(row, workflow) } : {};
  if (!options.includeTraceSpans && !options.includeFinalOutput)
    return { kind: 'workflow', ...commonFieldsOf(row, null), ...workflowField };
  const root = await traceOf(engine, row.engine_id);
  const output = options.includeFinalOutput && root ? await outputOf(engine, row, { root, budget }) : null;
  const spans = options.includeTraceSpans && root ? await readTraceSpans(engine, root, budget) : [];
  return {
    kind: 'workflow',
    ...commonFieldsOf(row, options.includeFinalOutput ? filesOf(row, output) : null),
    ...workflowField,
    ...(options.includeFinalOutput && { finalOutput: output }),
    ...(options.includeTraceSpans && { traceSpans: spans }),
  };
}

/** Returns the trace of a run; undefined if the run was deleted in the meantime. */
export async function traceOf(
  engine: Pick<Engine, 'getTrace'>,
  engineRunId: string,
): Promise<Span | undefined> {
  try {
    return await engine.getTrace(engineRunId);
  } catch (error) {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Returns the output of a completed run; null for other runs and if it exceeds the budget. */
export async function outputOf(
  engine: Pick<Engine, 'getRun'>,
  row: LogRow,
  { root, budget }: { root: Span; budget: TraceBudget },
): Promise<Json> {
  if (row.status !== 'completed' || !root.output || !consumeBytes(root.output, budget)) return null;
  return (await engine.getRun(row.engine_id)).output;
}

/** Returns the files of a run's output. */
export function filesOf(row: LogRow, output: Json): NonNullable<CommonFields['files']> {
  const runPath = `/api/v2/workflows/${encodeURIComponent(row.workflow_id)}/runs/${encodeURIComponent(row.run_id)}`;
  return filesIn(output).map(({ id, name, size, type }) => ({
    ...{ id, name, size, type },
    downloadPath: `${runPath}/files/${encodeURIComponent(id)}`,
  }));
}
