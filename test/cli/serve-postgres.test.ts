import { beforeAll, describe, expect, it } from 'vitest';
import { draftOf } from '../support/api.ts';
import { startServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import type { Json } from '@heddle/core';

interface ApiResponse {
  status: number;
  // Some responses have no `id` or no `status`; the tests read these fields only where they exist.
  data: Record<string, Json> & { id: string; status: string };
  runId: string;
}

const SECRET = { HEDDLE_API_SECRET: 'a secret of at least thirty-two characters' };
const TIMEOUT = { timeout: 60_000, interval: 100 };

let url = '';

/** Starts a process that serves the database. Only the first process prints a key; the others get it from `other`. */
async function startServer(other?: RunningServer): Promise<RunningServer> {
  return { ...other, ...(await startServe(['--postgres', url, '--grace', '5'], { env: SECRET })) };
}

async function call(
  { url: base, key }: RunningServer,
  method: string,
  path: string,
  request: { body?: Json; headers?: { [name: string]: string } } = {},
): Promise<ApiResponse> {
  const response = await fetch(`${base}/api/v2${path}`, {
    method,
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...request.headers },
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
  });
  const { data } = (await response.json()) as ApiResponse;
  return { status: response.status, data, runId: response.headers.get('x-run-id') ?? '' };
}

async function deploy(server: RunningServer, name: string, exported: Json): Promise<string> {
  const { workspaceId } = server;
  const created = await call(server, 'POST', '/workflows', { body: { workspaceId, name } });
  const path = `/workflows/${created.data.id}`;
  await call(server, 'PUT', `${path}/state`, { body: draftOf(exported) });
  expect(await call(server, 'POST', `${path}/deploy`)).toMatchObject({ status: 200 });
  return path;
}

const waitBlock = (name: string, seconds: number) =>
  block(name, 'wait', { timeValue: String(seconds), timeUnit: 'seconds' });
const ASK = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);

describe.skipIf(!hasPostgres)('several processes of heddle serve on PostgreSQL', { timeout: 180_000 }, () => {
  beforeAll(async () => {
    url = await postgresDatabase();
  });

  it('agree on run ids, versions and answers, and continue the runs of a killed or stopped process', async () => {
    const first = await startServer();
    expect(first.key).toMatch(/^sk-heddle-/);
    const second = await startServer(first);
    expect(second.key).toBe(first.key);
    const serverFor = (n: number): RunningServer => (n % 2 === 0 ? first : second);

    // A hundred starts with one id, fifty in each process.
    const path = await deploy(first, 'Claim', workflow([fn('F', 'return 1')], ['Start -> F']));
    const starts = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        call(serverFor(n), 'POST', `${path}/execute`, { headers: { 'X-Run-Id': 'the-only-one' }, body: {} }),
      ),
    );
    expect(starts.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(starts.filter(({ status }) => status === 409)).toHaveLength(99);

    // Version numbers have no gaps and no duplicates, and one version is live.
    const versions = await Promise.all(
      Array.from({ length: 12 }, (_, n) => call(serverFor(n), 'POST', `${path}/deploy`)),
    );
    const numbers = versions.map(({ data }) => Number(data['version']));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n + 2));
    await Promise.all(
      [3, 5, 7, 9].map((v) => call(serverFor(v >> 1), 'POST', `${path}/versions/${v}/activate`)),
    );
    const listed = await call(second, 'GET', `${path}/versions?limit=100`);
    const live = (listed.data as unknown as { isActive: boolean; version: number }[]).filter(
      (v) => v.isActive,
    );
    expect(live).toHaveLength(1);
    expect([3, 5, 7, 9]).toContain(live[0]?.version);

    // Two answers to one pause, one in each process: the first answer counts, and both calls get its result.
    const askPath = await deploy(first, 'Ask', ASK);
    for (let round = 0; round < 4; round++) {
      const { runId } = await call(serverFor(round), 'POST', `${askPath}/execute`, { body: {} });
      const run = await call(first, 'GET', `${askPath}/runs/${runId}`);
      const { contextId } = run.data['paused'] as { contextId: string };
      const answers = await Promise.all(
        [first, second].map((server, n) =>
          call(server, 'POST', `${askPath}/runs/${runId}/resume`, { body: { contextId, input: { n } } }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers[0]?.data['output']).toEqual(answers[1]?.data['output']);
      expect(answers[0]?.data).toMatchObject({ status: 'completed' });
    }

    // A cancellation in one process reaches a run of the other process.
    const slowPath = await deploy(first, 'Slow', workflow([waitBlock('T', 3600)], ['Start -> T']));
    const started = await call(first, 'POST', `${slowPath}/execute`, { body: { async: true } });
    await expect
      .poll(async () => (await call(second, 'GET', `${slowPath}/runs/${started.runId}`)).data.status, TIMEOUT)
      .toBe('paused');
    expect(await call(second, 'POST', `${slowPath}/runs/${started.runId}/cancel`)).toMatchObject({
      status: 200,
    });
    expect((await call(first, 'GET', `${slowPath}/runs/${started.runId}`)).data).toMatchObject({
      status: 'cancelled',
    });

    // One process is killed while its runs wait; the other process completes them.
    const waitPath = await deploy(
      first,
      'Wait',
      workflow([waitBlock('T', 4), fn('F', 'return 7')], ['Start -> T -> F']),
    );
    const accepted = await Promise.all(
      Array.from({ length: 6 }, () => call(first, 'POST', `${waitPath}/execute`, { body: { async: true } })),
    );
    expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 202));
    first.process.child.kill('SIGKILL');
    for (const { runId } of accepted)
      await expect
        .poll(
          async () => (await call(second, 'GET', `${waitPath}/runs/${runId}?includeOutput=true`)).data,
          TIMEOUT,
        )
        .toMatchObject({ status: 'completed', output: { result: 7 } });

    // A graceful shutdown hands over queued runs.
    const third = await startServer(first);
    const queued = await call(second, 'POST', `${waitPath}/execute`, { body: { async: true } });
    expect(queued.status).toBe(202);
    second.process.child.kill('SIGTERM');
    expect(await second.process.ended).toMatchObject({ exit: 0 });
    await expect
      .poll(async () => (await call(third, 'GET', `${waitPath}/runs/${queued.runId}`)).data.status, TIMEOUT)
      .toBe('completed');
    third.process.child.kill('SIGTERM');
    expect(await third.process.ended).toMatchObject({ exit: 0 });
  });
});
