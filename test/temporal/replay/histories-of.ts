import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type { ReplayWorkerOptions } from '@temporalio/worker';

type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;

export interface TemporalServer {
  address: string;
  namespace: string;
}

/** One workflow run's history: a run of ours that has continued as new has several. */
export interface RunHistory {
  workflowId: string;
  history: History;
}

const BUNDLE = fileURLToPath(new URL('../../../packages/temporal/dist/workflow-bundle.js', import.meta.url));

/** What the server has written down of runs. */
export class Histories {
  readonly #client: Client;
  readonly #connection: Connection;

  private constructor(connection: Connection, namespace: string) {
    this.#connection = connection;
    this.#client = new Client({ connection, namespace });
  }

  static async at({ address, namespace }: TemporalServer): Promise<Histories> {
    return new Histories(await Connection.connect({ address }), namespace);
  }

  /** All histories of a run that has ended, the first one first. */
  async of(runId: string): Promise<RunHistory[]> {
    // Its record says that it has ended a moment before the server knows.
    await this.#client.workflow
      .getHandle(runId)
      .result()
      .catch(() => undefined);
    const last = await this.#client.workflow.getHandle(runId).fetchHistory();
    const chain: RunHistory[] = [];
    let next = last.events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId;
    while (next) {
      const history = await this.#client.workflow.getHandle(runId, next).fetchHistory();
      chain.push({ workflowId: runId, history });
      next = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    }
    return chain;
  }

  /** True when no workflow task of the run is under way or due: what has happened in it stands. */
  async isThrough(runId: string): Promise<boolean> {
    const { raw } = await this.#client.workflow.getHandle(runId).describe();
    return !raw.pendingWorkflowTask;
  }

  /** How the server sees the run, in a line. */
  async shortly(runId: string): Promise<string> {
    try {
      const handle = this.#client.workflow.getHandle(runId);
      const { status } = await handle.describe();
      const { events } = await handle.fetchHistory();
      return `${status.name}: ${(events ?? []).slice(-12).map(told).join(', ')}`;
    } catch (error) {
      return String(error);
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** What replaying the histories with the workflow code of this checkout finds to be otherwise, by workflow id. */
export async function replayFaults(
  histories: readonly { workflowId: string; history: unknown }[],
  more: Partial<ReplayWorkerOptions> = {},
): Promise<string[]> {
  const faults: string[] = [];
  let replayed = 0;
  const options = { workflowBundle: { codePath: BUNDLE }, ...more };
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories)) {
    replayed++;
    if (error) faults.push(`${workflowId}: ${error.message}`);
  }
  if (replayed !== histories.length) faults.push(`${replayed} of ${histories.length} were replayed`);
  return faults;
}

/** The type of an event, with what failed. */
function told(event: NonNullable<History['events']>[number]): string {
  const { workflowExecutionFailedEventAttributes: run, workflowTaskFailedEventAttributes: task } = event;
  const failure = (run ?? task)?.failure;
  return `${typeOf(event)}${failure ? ` (${failure.message}: ${failure.cause?.message ?? ''} ${failure.stackTrace ?? ''})` : ''}`;
}

/** The type of an event of a history: `activityTaskScheduled` and the like. */
export function typeOf(event: object): string {
  const [name = ''] = Object.entries(event).flatMap(([key, value]) =>
    key.endsWith('EventAttributes') && value != null ? [key] : [],
  );
  return name.replace('EventAttributes', '');
}
