import { isEngineError } from '@heddle/core';
import type { Engine, ExecuteOptions, WorkflowSource } from '@heddle/engine';

/** Returns what is said of a run that could not be started, without the secrets that the workflow can read. */
export async function redactedMessage(
  engine: Engine,
  workflow: WorkflowSource,
  message: string,
  { version }: Pick<ExecuteOptions, 'version'>,
): Promise<string> {
  try {
    const which = version === undefined ? {} : { version };
    const redacted = await engine.redact(workflow, message, which);
    return typeof redacted === 'string' ? redacted : JSON.stringify(redacted);
  } catch (failed) {
    // There is no workflow that could read a secret.
    if (isEngineError(failed) && failed.code === 'WORKFLOW_NOT_FOUND') return message;
    return 'The run could not be started, and its environment values cannot be read to say why.';
  }
}
