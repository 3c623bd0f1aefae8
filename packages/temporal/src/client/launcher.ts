import { EngineError } from '@heddle/core';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { reasonOf } from '../connection.ts';
import { shownAs } from '../labels.ts';
import { CANCEL_SIGNAL, RUN_WORKFLOW } from '../messages.ts';
import type { CancelMessage, RunInput } from '../messages.ts';

interface LauncherParts {
  client: Client;
  taskQueue: string;
  /** The server may hand the first workflow task to a worker of this process at once. */
  eager: boolean;
}

/** Starts the workflows of runs that are recorded. */
export class Launcher {
  private readonly parts: LauncherParts;

  constructor(parts: LauncherParts) {
    this.parts = parts;
  }

  /** Starts it, once whoever asks and how often; `cancel`: and cancels it before it has run anything. Throws RUNTIME_UNREACHABLE. */
  async start(input: RunInput, cancel?: CancelMessage): Promise<void> {
    const { client, taskQueue, eager } = this.parts;
    const options = {
      workflowId: input.runId,
      taskQueue,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...shownAs(input),
      args: [input],
    } as const;
    try {
      if (cancel)
        await client.workflow.signalWithStart(RUN_WORKFLOW, {
          ...options,
          signal: CANCEL_SIGNAL,
          signalArgs: [cancel],
        });
      else await client.workflow.start(RUN_WORKFLOW, { ...options, requestEagerStart: eager });
    } catch (error) {
      // Somebody has taken up a run that was recorded and not started.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw refused(error);
    }
  }
}

/** RUNTIME_UNREACHABLE with what the server or the network said. */
export function refused(error: unknown): EngineError {
  return new EngineError('RUNTIME_UNREACHABLE', `The Temporal server did not take it: ${reasonOf(error)}.`, {
    cause: error,
  });
}
