import { isEngineError } from '@heddle/engine';
import type { Engine, RunResource } from '@heddle/engine';
import type { OutcomeCase } from './cases.ts';
import { difference, errorDifference } from './compare.ts';
import { executionDifference } from './executions.ts';

/** Returns the engine options of a case. Cases with the same environment values share an engine. */
export function optionsFor({ env = {} }: OutcomeCase) {
  const values = Object.entries(env).map(([name, value]) => [name, { value, secret: false as const }]);
  return {
    env: Object.fromEntries(values) as { [name: string]: { value: string; secret: false } },
    // With one process, code runs in the order of requests, as in the records.
    sandbox: { maxProcesses: 1 },
  };
}

/** Returns the difference between a run of the case and its record, or `as recorded`. */
export async function runCase(engine: Engine, outcomeCase: OutcomeCase, runId?: string): Promise<string> {
  const options = runId === undefined ? {} : { runId };
  try {
    const run = await engine.execute({ workflow: outcomeCase.workflow }, outcomeCase.input, options);
    return (await runDifference(engine, outcomeCase, run)) ?? 'as recorded';
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return mayBeRefused(outcomeCase) ? 'as recorded' : `refused: ${error.message}`;
  }
}

/**
 * Returns true if Heddle may refuse the workflow: the case says so, no block ran before the recorded failure, or a
 * container has no block that can run.
 */
function mayBeRefused({ heddle, outcome, id }: OutcomeCase): boolean {
  return heddle?.invalid === true || outcome.beforeRun === true || EMPTY_CONTAINERS.has(id);
}

/** More results of Heddle that deliberately differ from the records (ADR 19), in addition to those in the file. */
const DEVIATIONS: { [id: string]: NonNullable<OutcomeCase['heddle']> } = {
  // `<variable.My Var>` reads the variable like the normalized forms of its name.
  r267: { success: true, output: { result: ['v', 'v', 'v'], stdout: '' } },
  // The condition of a loop may end in `;`, so a loop with the condition `false;` has no iterations.
  r507: { success: true, output: { result: [], stdout: '' } },
};

/** Cases that fail at run time in the records. Heddle refuses them, because a container has no block that can run. */
const EMPTY_CONTAINERS = new Set(['r069', 'r529', 'r615']);

async function runDifference(
  engine: Engine,
  outcomeCase: OutcomeCase,
  run: RunResource,
): Promise<string | undefined> {
  const { outcome, compare } = outcomeCase;
  const deviation = DEVIATIONS[outcomeCase.id] ?? outcomeCase.heddle;
  const success = deviation?.success ?? outcome.success;
  if (success !== (run.status === 'completed')) return `status is ${run.status}: ${run.error?.message ?? ''}`;
  if (deviation) return deviationDifference(deviation, run);
  if (outcome.beforeRun) return undefined;
  const foundDifference = failureDifference(outcome, run) ?? difference(outcome.output, run.output);
  return (
    foundDifference ??
    executionDifference(outcome.blocks, await engine.getLogs(run.runId), compare === 'full')
  );
}

function deviationDifference(
  deviation: NonNullable<OutcomeCase['heddle']>,
  run: RunResource,
): string | undefined {
  if (deviation.invalid) return 'should be refused';
  return 'output' in deviation ? difference(deviation.output, run.output) : undefined;
}

function failureDifference(outcome: OutcomeCase['outcome'], run: RunResource): string | undefined {
  if (outcome.success) return undefined;
  const foundDifference = errorDifference(outcome.error, run.error?.message, 'error');
  const blockName = (run.error?.details as { blockName?: string } | undefined)?.blockName;
  const isSameBlock = outcome.errorBlock === undefined || blockName === outcome.errorBlock;
  return foundDifference ?? (isSameBlock ? undefined : `failed at ${blockName}, not ${outcome.errorBlock}`);
}
