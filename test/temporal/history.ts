import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { onTestFinished } from 'vitest';

const { History } = proto.temporal.api.history.v1;

/** Returns a plain Temporal client of the server, which is closed after the test. */
export async function openClient({
  address,
  namespace,
}: {
  address: string;
  namespace: string;
}): Promise<Client> {
  const connection = await Connection.connect({ address });
  onTestFinished(() => connection.close());
  return new Client({ connection, namespace });
}

/** Returns the whole history of a run on the server as text. */
export async function fetchHistoryText(client: Client, runId: string): Promise<string> {
  const history = await client.workflow.getHandle(runId).fetchHistory();
  return Buffer.from(History.encode(history).finish()).toString('latin1');
}

/** Returns the number of events in the history of a run, by type. */
export async function countEvents(client: Client, runId: string): Promise<{ [type: string]: number }> {
  const { events } = await client.workflow.getHandle(runId).fetchHistory();
  const counts: { [type: string]: number } = {};
  for (const event of events ?? []) {
    const type = Object.keys(event).find((key) => key.endsWith('EventAttributes')) ?? 'unknown';
    const name = type.replace('EventAttributes', '');
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
