import type { FunctionOutcome, SandboxFailure } from '../../packages/sandbox/src/index.ts';

/** What a function gave. Throws with the failure's code, name and message where it failed. */
export function valueIn(outcome: FunctionOutcome): unknown {
  if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.name}: ${outcome.error.message}`);
  return JSON.parse(outcome.json);
}

/** Why a function failed. Throws where it did not. */
export function failureIn(outcome: FunctionOutcome): SandboxFailure {
  if (outcome.ok) throw new Error(`It gave ${outcome.json}.`);
  return outcome.error;
}
