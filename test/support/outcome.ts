import type { FunctionOutcome, SandboxFailure } from '../../packages/sandbox/src/index.ts';

/** Returns the value that the job returned. If the job failed, throws with the failure's code, name and message. */
export function valueIn(outcome: FunctionOutcome): unknown {
  if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.name}: ${outcome.error.message}`);
  return JSON.parse(outcome.json);
}

/** Returns the failure of the job. Throws if the job succeeded. */
export function failureIn(outcome: FunctionOutcome): SandboxFailure {
  if (outcome.ok) throw new Error(`The job succeeded with ${outcome.json}.`);
  return outcome.error;
}
