import { isEngineError } from '@heddle/engine';
import type { Engine, RunResource } from '@heddle/engine';
import type { OutcomeCase } from './cases.ts';
import { difference, faultDifference } from './compare.ts';
import { ranDifference } from './ran.ts';

/** Options of the engines that the cases are run with, by what they must have in common. */
export function optionsFor({ env = {} }: OutcomeCase) {
  const open = Object.entries(env).map(([name, value]) => [name, { value, secret: false as const }]);
  return {
    env: Object.fromEntries(open) as { [name: string]: { value: string; secret: false } },
    // With one process, code that is asked for first is done first: the records are of such an order.
    sandbox: { maxProcesses: 1 },
  };
}

/** How running the case differs from its record; `as recorded` when it does not. */
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

/** Refusing is right where a decision says so, where nothing ran before the failure, and for containers that nothing runs in. */
function mayBeRefused({ heddle, outcome, id }: OutcomeCase): boolean {
  return heddle?.invalid === true || outcome.beforeRun === true || EMPTY_CONTAINERS.has(id);
}

/** Cases whose record a decision overrides though the file does not say so: what Heddle gives. */
const DECIDED: { [id: string]: NonNullable<OutcomeCase['heddle']> } = {
  // Decision 48: `<variable.My Var>` works as its normalised forms do.
  r267: { success: true, output: { result: ['v', 'v', 'v'], stdout: '' } },
  // Decision 42: a trailing `;` in a loop's condition is fine, so `false;` is a loop without turns.
  r507: { success: true, output: { result: [], stdout: '' } },
};

/** Fail at run time elsewhere; decision 54 refuses them. */
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
  if (decided.invalid) return 'was to be refused';
  return 'output' in decided ? difference(decided.output, run.output) : undefined;
}

function failureDifference(outcome: OutcomeCase['outcome'], run: RunResource): string | undefined {
  if (outcome.success) return undefined;
  const fault = faultDifference(outcome.error, run.error?.message, 'error');
  const named = (run.error?.details as { blockName?: string } | undefined)?.blockName;
  const there = outcome.errorBlock === undefined || named === outcome.errorBlock;
  return fault ?? (there ? undefined : `failed at ${named}, not ${outcome.errorBlock}`);
}
