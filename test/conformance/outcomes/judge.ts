import { isEngineError } from '@heddle/engine';
import type { Engine, RunResource } from '@heddle/engine';
import type { OutcomeCase } from './cases.ts';
import { difference, faultDifference } from './compare.ts';
import { ranDifference } from './ran.ts';

/** Returns engine options by environment: all cases of an environment share an engine. */
export function optionsFor({ env = {} }: OutcomeCase) {
  const open = Object.entries(env).map(([name, value]) => [name, { value, secret: false as const }]);
  return {
    env: Object.fromEntries(open) as { [name: string]: { value: string; secret: false } },
    // With one process, code runs in the order of requests, as in the records.
    sandbox: { maxProcesses: 1 },
  };
}

/** Returns how a run of the case differs from its record, or `as recorded`. */
export async function runCase(engine: Engine, outcome: OutcomeCase, runId?: string): Promise<string> {
  const options = runId === undefined ? {} : { runId };
  try {
    const run = await engine.execute({ workflow: outcome.workflow }, outcome.input, options);
    return (await judge(engine, outcome, run)) ?? 'as recorded';
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return mayBeRefused(outcome) ? 'as recorded' : `refused: ${error.message}`;
  }
}

/**
 * Returns whether refusing the workflow is correct: if a decision requires it, if no block ran before the failure, or
 * if a container has no block that can run.
 */
function mayBeRefused({ heddle, outcome, id }: OutcomeCase): boolean {
  return heddle?.invalid === true || outcome.beforeRun === true || EMPTY_CONTAINERS.has(id);
}

/** Heddle's results of cases whose record is overridden by a decision, without a note in the file. */
const DECIDED: { [id: string]: NonNullable<OutcomeCase['heddle']> } = {
  // Decision 48: `<variable.My Var>` works like its normalised forms.
  r267: { success: true, output: { result: ['v', 'v', 'v'], stdout: '' } },
  // Decision 42: a trailing `;` in a loop's condition is allowed, so `false;` is a loop without iterations.
  r507: { success: true, output: { result: [], stdout: '' } },
};

/** Cases that fail at run time in the records, and that are refused by decision 54. */
const EMPTY_CONTAINERS = new Set(['r069', 'r529', 'r615']);

async function judge(engine: Engine, recorded: OutcomeCase, run: RunResource): Promise<string | undefined> {
  const { outcome, compare } = recorded;
  const decided = DECIDED[recorded.id] ?? recorded.heddle;
  const success = decided?.success ?? outcome.success;
  if (success !== (run.status === 'completed')) return `status is ${run.status}: ${run.error?.message ?? ''}`;
  if (decided) return decidedDifference(decided, run);
  if (outcome.beforeRun) return undefined;
  const differs = failureDifference(outcome, run) ?? difference(outcome.output, run.output);
  return differs ?? ranDifference(outcome.blocks, await engine.getLogs(run.runId), compare === 'full');
}

function decidedDifference(
  decided: NonNullable<OutcomeCase['heddle']>,
  run: RunResource,
): string | undefined {
  if (decided.invalid) return 'should be refused';
  return 'output' in decided ? difference(decided.output, run.output) : undefined;
}

function failureDifference(outcome: OutcomeCase['outcome'], run: RunResource): string | undefined {
  if (outcome.success) return undefined;
  const fault = faultDifference(outcome.error, run.error?.message, 'error');
  const named = (run.error?.details as { blockName?: string } | undefined)?.blockName;
  const there = outcome.errorBlock === undefined || named === outcome.errorBlock;
  return fault ?? (there ? undefined : `failed at ${named}, not ${outcome.errorBlock}`);
}
