import { EngineError } from '@heddle/core';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { reasonOf } from '../connection.ts';
import { CANCEL_SIGNAL, RUN_WORKFLOW } from '../messages.ts';
import type { CancelMessage, RunInput } from '../messages.ts';
import { visibilityOptionsOf } from '../search-attributes.ts';

interface LauncherDependencies {
  client: Client;
  taskQueue: string;
  /** The server may give the first workflow task directly to a worker of this process. */
  eager: boolean;
}

/** Starts the workflows of recorded runs. */
export class Launcher {
  readonly #dependencies: LauncherDependencies;

  constructor(dependencies: LauncherDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Starts the workflow of a run, unless it has been started before. With `cancel`, the run is cancelled before any
   * block runs. Throws RUNTIME_UNREACHABLE.
   */
  async start(input: RunInput, cancel?: CancelMessage): Promise<void> {
    const { client, taskQueue, eager } = this.#dependencies;
    const options = {
      workflowId: input.runId,
      taskQueue,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...visibilityOptionsOf(input),
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
      // Another process has found the recorded run and started it.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw serverError(error);
    }
  }
}

/** Returns RUNTIME_UNREACHABLE with the error of the server or the network. */
export function serverError(error: unknown): EngineError {
  return new EngineError(
    'RUNTIME_UNREACHABLE',
    `The Temporal server did not accept the request: ${reasonOf(error)}.`,
    { cause: error },
  );
}
