import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { TestApi } from './api.ts';
import { waitForStatus } from './api-workflows.ts';
import type { RunResponse } from './api-workflows.ts';
import { block, workflow } from './workflow.ts';

/** Returns the egress option that lets blocks connect to the server at `url` on this machine. */
export function egressTo(url: string): { allowPrivate: true; ports: number[] } {
  return { allowPrivate: true, ports: [Number(new URL(url).port)] };
}

/** Starts the server on a free port. Returns its URL. */
export async function listenOnFreePort(server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that records the call chain of each request. */
interface ChainServer {
  url: string;
  chains: (string | undefined)[];
}

export async function startChainServer(): Promise<ChainServer> {
  const chains: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    chains.push(request.headers['x-sim-via'] as string | undefined);
    response.end('{}');
  });
  onTestFinished(() => server.close().closeAllConnections());
  return { url: await listenOnFreePort(server), chains };
}

/** Expects that child runs and the requests of `api` blocks extend the call chain of the request that starts a run. */
export async function expectChainPassedOn(api: TestApi, { url, chains }: ChainServer): Promise<void> {
  const forgedHeaders = [{ id: 'row', cells: { Key: 'x-sim-via', Value: 'forged' } }];
  const childWorkflowId = await api.deploy(
    workflow([block('Fetch', 'api', { url, method: 'GET', headers: forgedHeaders })], ['Start -> Fetch']),
  );
  const parentWorkflowId = await api.deploy(
    workflow([block('Call', 'workflow', { workflowId: childWorkflowId })], ['Start -> Call']),
  );
  const path = `/api/v2/workflows/${parentWorkflowId}`;
  const headers = { 'X-Sim-Via': ' outer , outmost' };
  const syncRun = await api.call<RunResponse>('POST', `${path}/execute`, { body: {}, headers });
  expect(syncRun).toMatchObject({ status: 200, data: { status: 'completed' } });
  const asyncRun = await api.call<RunResponse>('POST', `${path}/execute`, { body: { async: true }, headers });
  await waitForStatus(api, `${path}/runs/${asyncRun.data.runId}`, 'completed');
  const chain = `outer,outmost,${parentWorkflowId},${childWorkflowId}`;
  expect(chains).toEqual([chain, chain]);
  await api.call('POST', `${path}/execute`, { body: {} });
  expect(chains.at(-1)).toBe(`${parentWorkflowId},${childWorkflowId}`);
}
