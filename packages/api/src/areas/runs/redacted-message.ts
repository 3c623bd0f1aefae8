import { isEngineError } from '@heddle/core';
import type { Engine, ExecuteOptions, WorkflowSource } from '@heddle/engine';

/** Returns the message of a failure without the secrets that the workflow can read. */
export async function redactMessage(
  engine: Engine,
  workflow: WorkflowSource,
  message: string,
  { version }: Pick<ExecuteOptions, 'version'>,
): Promise<string> {
  try {
    const redactedMessage = await engine.redact(workflow, message, version === undefined ? {} : { version });
    return typeof redactedMessage === 'string' ? redactedMessage : JSON.stringify(redactedMessage);
  } catch (redactionError) {
    // A workflow that does not exist reads no secrets.
    if (isEngineError(redactionError) && redactionError.code === 'WORKFLOW_NOT_FOUND') return message;
    return 'The run could not be started. The reason is hidden: it may contain environment values.';
  }
}
