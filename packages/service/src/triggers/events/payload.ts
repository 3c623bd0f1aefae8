import { isEngineError } from '@heddle/core';
import type { Json, JsonObject } from '@heddle/core';
import type { Engine } from '@heddle/engine';
import type { EventRule } from '@heddle/engine/triggers';
import { CREDITS_PER_DOLLAR } from './conditions.ts';
import type { EndedRun } from './conditions.ts';

/** Maximum number of characters of a run's output in the input of another run. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024;
/** Number of characters of the preview that replaces a longer output. */
const PREVIEW_CHARACTERS = 8 * 1024;

/** The data of an event for the inputs of the runs that it starts. */
export interface EventSubject {
  happenedMs: number;
  workflow?: { id: string; name: string } | undefined;
  /** The run that has ended, as `summarizeRun` returns it. */
  run?: JsonObject | undefined;
  credential?: JsonObject | undefined;
  version?: number | undefined;
  error?: string | undefined;
}

const NO_RUN = { runId: null, durationMs: null, cost: null, finalOutput: null, errorMessage: null };

/** Returns the input of the runs that a rule starts. Fields without a value are null. */
export function inputOf({ event }: EventRule, subject: EventSubject): JsonObject {
  const { workflow, run, happenedMs, credential = null, version = null } = subject;
  const isRunEvent = event === 'execution_error' || event === 'execution_success';
  return {
    event,
    timestamp: new Date(happenedMs).toISOString(),
    workflowId: workflow?.id ?? null,
    workflowName: workflow?.name ?? null,
    ...NO_RUN,
    ...(isRunEvent && run),
    ...(subject.error !== undefined && { errorMessage: subject.error }),
    triggeringRun: isRunEvent ? null : (run ?? null),
    ...{ version, credential },
  };
}

/** Returns the summary of a run for the input of another run. */
export async function summarizeRun(engine: Pick<Engine, 'getRun'>, run: EndedRun): Promise<JsonObject> {
  const { output, error } = await resultOf(engine, run.engine_id);
  return {
    runId: run.run_id,
    durationMs: run.duration_ms < 0 ? null : run.duration_ms,
    cost: run.cost < 0 ? null : run.cost * CREDITS_PER_DOLLAR,
    finalOutput: truncate(output),
    errorMessage: error,
  };
}

/** Returns the output and error of a run. Both are null if the run was deleted. */
async function resultOf(
  engine: Pick<Engine, 'getRun'>,
  engineRunId: string,
): Promise<{ output: Json; error: string | null }> {
  try {
    const { output, error } = await engine.getRun(engineRunId);
    return { output, error: error?.message ?? null };
  } catch (error) {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND') return { output: null, error: null };
    throw error;
  }
}

function truncate(output: Json): Json {
  const json = JSON.stringify(output);
  if (json.length <= MAX_OUTPUT_CHARACTERS) return output;
  return { truncated: true, preview: json.slice(0, PREVIEW_CHARACTERS).toWellFormed() };
}
