import { isEngineError } from '@heddle/core';
import type { Engine, ExecuteOptions, WorkflowSource } from '@heddle/engine';

/** Returns why a run was not started, without the secrets that the workflow can read. */
export async function redactedMessage(
  engine: Engine,
  workflow: WorkflowSource,
  message: string,
  { version }: Pick<ExecuteOptions, 'version'>,
): Promise<string> {
  try {
    const redacted = await engine.redact(workflow, message, version === undefined ? {} : { version });
    return typeof redacted === 'string' ? redacted : JSON.stringify(redacted);
  } catch (failed) {
    // A workflow that does not exist reads no secrets.
    if (isEngineError(failed) && failed.code === 'WORKFLOW_NOT_FOUND') return message;
    return 'The run could not be started. The reason is hidden: it may contain environment values.';
  }
}
