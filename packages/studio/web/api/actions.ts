import { BASE_PATH, HEADERS, RequestError, client, dataOf } from './client.ts';
import { valueParameters } from './queries.ts';
import type { ValueAddress } from './queries.ts';

/** A run and its workflow. */
export interface RunRef {
  workflowId: string;
  runId: string;
}

/** Cancels a run. Throws if the run has ended. */
export async function cancelRun(run: RunRef): Promise<void> {
  const url = '/api/v2/workflows/{workflowId}/runs/{runId}/cancel';
  const { data } = await dataOf(client.POST(url, { params: { path: run } }));
  if (!data.success)
    throw new RequestError(409, `The run was not cancelled: ${data.reason.replaceAll('_', ' ')}.`);
}

/** The block at which a run starts again, the version of its workflow, and the values that replace recorded values. */
export interface RerunBody {
  blockId?: string;
  iterations?: number[];
  version?: 'run' | 'live';
  input?: { [name: string]: unknown };
  fields?: { [name: string]: unknown };
  outputs?: { [blockId: string]: { [name: string]: unknown } };
}

/** Starts a run again. Returns the id of the new run. */
export async function rerun(run: RunRef, body: RerunBody = {}): Promise<string> {
  const url = '/api/v2/workflows/{workflowId}/runs/{runId}/rerun';
  return (await dataOf(client.POST(url, { params: { path: run }, body }))).data.runId;
}

/** Answers a pause point. Does not wait for the end of the run. */
export async function resume(
  run: RunRef,
  contextId: string,
  input: { [name: string]: unknown },
): Promise<void> {
  const url = '/api/v2/workflows/{workflowId}/runs/{runId}/resume';
  await dataOf(client.POST(url, { params: { path: run }, body: { contextId, input } }));
}

/** Saves a whole value as a file. */
export async function downloadValue(runId: string, address: ValueAddress): Promise<void> {
  const query = new URLSearchParams(valueParameters(address)).toString();
  await saveFile(`/api/v2/logs/${encodeURIComponent(runId)}/value/download?${query}`, `${address.part}.json`);
}

/** Saves a response of the HTTP API as a file. A plain link would lack the header that a session requires. */
export async function saveFile(path: string, name: string): Promise<void> {
  const response = await fetch(BASE_PATH + path, { headers: HEADERS });
  if (!response.ok)
    throw new RequestError(response.status, `The server responded with the status ${response.status}.`);
  const objectUrl = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = objectUrl;
  link.download = name;
  link.click();
  URL.revokeObjectURL(objectUrl);
}
