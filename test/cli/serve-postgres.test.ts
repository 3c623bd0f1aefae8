import { beforeAll, describe, expect, it } from 'vitest';
import { draftOf } from '../support/api.ts';
import { startHeddleServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import type { Json } from '@heddle/core';

interface ApiResponse {
  status: number;
  // Some responses have no `id` or no `status`; the tests read these fields only where they exist.
  data: Record<string, Json> & { id: string; status: string };
  runId: string;
}

const SECRET_ENV = { HEDDLE_API_SECRET: 'a secret of at least thirty-two characters' };
const POLL_OPTIONS = { timeout: 60_000, interval: 100 };

let url = '';

/**
 * Starts a process that serves the database. Only the first process prints a key; the others get it from `firstServer`.
 */
async function startServer(firstServer?: RunningServer): Promise<RunningServer> {
  return {
    ...firstServer,
    ...(await startHeddleServe(['--postgres', url, '--grace', '5'], { env: SECRET_ENV })),
  };
}

async function call(
  { url: baseUrl, key }: RunningServer,
  method: string,
  path: string,
  request: { body?: Json; headers?: { [name: string]: string } } = {},
): Promise<ApiResponse> {
  const response = await fetch(`${baseUrl}/api/v2${path}`, {
    method,
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...request.headers },
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
  });
  const { data } = (await response.json()) as ApiResponse;
  return { status: response.status, data, runId: response.headers.get('x-run-id') ?? '' };
}

async function deploy(server: RunningServer, name: string, exportedWorkflow: Json): Promise<string> {
  const { workspaceId } = server;
  const createResponse = await call(server, 'POST', '/workflows', { body: { workspaceId, name } });
  const path = `/workflows/${createResponse.data.id}`;
  await call(server, 'PUT', `${path}/state`, { body: draftOf(exportedWorkflow) });
  expect(await call(server, 'POST', `${path}/deploy`)).toMatchObject({ status: 200 });
  return path;
}

const waitBlock = (name: string, seconds: number) =>
  block(name, 'wait', { timeValue: String(seconds), timeUnit: 'seconds' });
const ASK_WORKFLOW = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);

describe.skipIf(!hasPostgres)('several processes of heddle serve on PostgreSQL', { timeout: 180_000 }, () => {
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });

  it('agree on run ids, versions and answers, and continue the runs of a killed or stopped process', async () => {
    const firstServer = await startServer();
    expect(firstServer.key).toMatch(/^sk-heddle-/);
    const secondServer = await startServer(firstServer);
    expect(secondServer.key).toBe(firstServer.key);
    const serverFor = (n: number): RunningServer => (n % 2 === 0 ? firstServer : secondServer);

    // A hundred starts with one id, fifty in each process.
    const path = await deploy(firstServer, 'Claim', workflow([fn('F', 'return 1')], ['Start -> F']));
    const concurrentStartResponses = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        call(serverFor(n), 'POST', `${path}/execute`, { headers: { 'X-Run-Id': 'the-only-one' }, body: {} }),
      ),
    );
    expect(concurrentStartResponses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(concurrentStartResponses.filter(({ status }) => status === 409)).toHaveLength(99);

    // Version numbers have no gaps and no duplicates, and one version is live.
    const deployResponses = await Promise.all(
      Array.from({ length: 12 }, (_, n) => call(serverFor(n), 'POST', `${path}/deploy`)),
    );
    const versionNumbers = deployResponses.map(({ data }) => Number(data['version']));
    expect(versionNumbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n + 2));
    await Promise.all(
      [3, 5, 7, 9].map((v) => call(serverFor(v >> 1), 'POST', `${path}/versions/${v}/activate`)),
    );
    const listResponse = await call(secondServer, 'GET', `${path}/versions?limit=100`);
    const liveVersions = (listResponse.data as unknown as { isActive: boolean; version: number }[]).filter(
      (v) => v.isActive,
    );
    expect(liveVersions).toHaveLength(1);
    expect([3, 5, 7, 9]).toContain(liveVersions[0]?.version);

    // Two answers to one pause, one in each process: the first answer counts, and both calls get its result.
    const askPath = await deploy(firstServer, 'Ask', ASK_WORKFLOW);
    for (let round = 0; round < 4; round++) {
      const { runId } = await call(serverFor(round), 'POST', `${askPath}/execute`, { body: {} });
      const run = await call(firstServer, 'GET', `${askPath}/runs/${runId}`);
      const { contextId } = run.data['paused'] as { contextId: string };
      const answerResponses = await Promise.all(
        [firstServer, secondServer].map((server, n) =>
          call(server, 'POST', `${askPath}/runs/${runId}/resume`, { body: { contextId, input: { n } } }),
        ),
      );
      expect(answerResponses.map(({ status }) => status)).toEqual([200, 200]);
      expect(answerResponses[0]?.data['output']).toEqual(answerResponses[1]?.data['output']);
      expect(answerResponses[0]?.data).toMatchObject({ status: 'completed' });
    }

    // A cancellation in one process reaches a run of the other process.
    const slowPath = await deploy(firstServer, 'Slow', workflow([waitBlock('T', 3600)], ['Start -> T']));
    const startResponse = await call(firstServer, 'POST', `${slowPath}/execute`, { body: { async: true } });
    await expect
      .poll(
        async () => (await call(secondServer, 'GET', `${slowPath}/runs/${startResponse.runId}`)).data.status,
        POLL_OPTIONS,
      )
      .toBe('paused');
    expect(await call(secondServer, 'POST', `${slowPath}/runs/${startResponse.runId}/cancel`)).toMatchObject({
      status: 200,
    });
    expect((await call(firstServer, 'GET', `${slowPath}/runs/${startResponse.runId}`)).data).toMatchObject({
      status: 'cancelled',
    });

    // One process is killed while its runs wait; the other process completes them.
    const waitPath = await deploy(
      firstServer,
      'Wait',
      workflow([waitBlock('T', 4), fn('F', 'return 7')], ['Start -> T -> F']),
    );
    const startResponses = await Promise.all(
      Array.from({ length: 6 }, () =>
        call(firstServer, 'POST', `${waitPath}/execute`, { body: { async: true } }),
      ),
    );
    expect(startResponses.map(({ status }) => status)).toEqual(startResponses.map(() => 202));
    firstServer.process.child.kill('SIGKILL');
    for (const { runId } of startResponses)
      await expect
        .poll(
          async () => (await call(secondServer, 'GET', `${waitPath}/runs/${runId}?includeOutput=true`)).data,
          POLL_OPTIONS,
        )
        .toMatchObject({ status: 'completed', output: { result: 7 } });

    // A graceful shutdown hands over queued runs.
    const thirdServer = await startServer(firstServer);
    const waitResponse = await call(secondServer, 'POST', `${waitPath}/execute`, { body: { async: true } });
    expect(waitResponse.status).toBe(202);
    secondServer.process.child.kill('SIGTERM');
    expect(await secondServer.process.result).toMatchObject({ exitCode: 0 });
    await expect
      .poll(
        async () => (await call(thirdServer, 'GET', `${waitPath}/runs/${waitResponse.runId}`)).data.status,
        POLL_OPTIONS,
      )
      .toBe('completed');
    thirdServer.process.child.kill('SIGTERM');
    expect(await thirdServer.process.result).toMatchObject({ exitCode: 0 });
  });
});
