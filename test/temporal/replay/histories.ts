import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type { ReplayWorkerOptions } from '@temporalio/worker';

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;

export interface TemporalServer {
  address: string;
  namespace: string;
}

/** The history of one workflow run. A run of Heddle has several if its workflow has continued as new. */
export interface RunHistory {
  workflowId: string;
  history: History;
}

const BUNDLE_PATH = fileURLToPath(
  new URL('../../../packages/temporal/dist/workflow-bundle.js', import.meta.url),
);

/** Reads the histories of runs from a server. */
export class HistoryReader {
  readonly #client: Client;
  readonly #connection: Connection;

  private constructor(connection: Connection, namespace: string) {
    this.#connection = connection;
    this.#client = new Client({ connection, namespace });
  }

  static async connect({ address, namespace }: TemporalServer): Promise<HistoryReader> {
    return new HistoryReader(await Connection.connect({ address }), namespace);
  }

  /** Returns all histories of a run that has ended, oldest first. */
  async readHistories(runId: string): Promise<RunHistory[]> {
    // The run's record is written shortly before its workflow ends on the server.
    await this.#client.workflow
      .getHandle(runId)
      .result()
      .catch(() => undefined);
    const lastHistory = await this.#client.workflow.getHandle(runId).fetchHistory();
    const chain: RunHistory[] = [];
    let nextExecutionId =
      lastHistory.events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId;
    while (nextExecutionId) {
      const history = await this.#client.workflow.getHandle(runId, nextExecutionId).fetchHistory();
      chain.push({ workflowId: runId, history });
      nextExecutionId =
        history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    }
    return chain;
  }

  /** Returns whether the run has no scheduled or running workflow task, so that its history is complete for now. */
  async isIdle(runId: string): Promise<boolean> {
    const { raw } = await this.#client.workflow.getHandle(runId).describe();
    return !raw.pendingWorkflowTask;
  }

  /** Returns the status and the event types of the run on the server, in one line. */
  async summarize(runId: string): Promise<string> {
    try {
      const handle = this.#client.workflow.getHandle(runId);
      const { status } = await handle.describe();
      const { events } = await handle.fetchHistory();
      return `${status.name}: ${(events ?? []).slice(-12).map(describeEvent).join(', ')}`;
    } catch (error) {
      return String(error);
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/**
 * Replays the histories with the workflow code of this checkout. Returns `workflow id: error` for each that fails, and
 * a message if some histories were not replayed.
 */
export async function findReplayErrors(
  histories: readonly { workflowId: string; history: unknown }[],
  options: Partial<ReplayWorkerOptions> = {},
): Promise<string[]> {
  const errors: string[] = [];
  let replayedCount = 0;
  const workerOptions = { workflowBundle: { codePath: BUNDLE_PATH }, ...options };
  for await (const { workflowId, error } of Worker.runReplayHistories(workerOptions, histories)) {
    replayedCount++;
    if (error) errors.push(`${workflowId}: ${error.message}`);
  }
  if (replayedCount !== histories.length)
    errors.push(`${replayedCount} of ${histories.length} histories were replayed`);
  return errors;
}

/** Returns the type of an event, followed by its failure if it has one. */
function describeEvent(event: NonNullable<History['events']>[number]): string {
  const { workflowExecutionFailedEventAttributes: run, workflowTaskFailedEventAttributes: task } = event;
  const failure = (run ?? task)?.failure;
  return `${eventTypeOf(event)}${failure ? ` (${failure.message}: ${failure.cause?.message ?? ''} ${failure.stackTrace ?? ''})` : ''}`;
}

/** Returns the type of an event, such as `activityTaskScheduled`. */
export function eventTypeOf(event: object): string {
  const [name = ''] = Object.entries(event).flatMap(([key, value]) =>
    key.endsWith('EventAttributes') && value != null ? [key] : [],
  );
  return name.replace('EventAttributes', '');
}
