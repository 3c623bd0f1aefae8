import { beforeAll, describe, expect, it } from 'vitest';
import { draftOf } from '../support/api.ts';
import { startServe } from '../support/heddle.ts';
import type { Served } from '../support/heddle.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import type { Json } from '@heddle/core';

interface Answer {
  status: number;
  // The type that the test expects.
  data: Record<string, Json> & { id: string; status: string };
  runId: string;
}

const SECRET = { HEDDLE_API_SECRET: 'a secret of at least thirty-two characters' };
const TIMEOUT = { timeout: 60_000, interval: 100 };

let url = '';

/** Starts a process that serves the database. */
async function served(first?: Served): Promise<Served> {
  return { ...first, ...(await startServe(['--postgres', url, '--grace', '5'], { env: SECRET })) };
}

async function call(
  { url: base, key }: Served,
  method: string,
  path: string,
  given: { body?: Json; headers?: { [name: string]: string } } = {},
): Promise<Answer> {
  const response = await fetch(`${base}/api/v2${path}`, {
    method,
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...given.headers },
    ...(given.body !== undefined && { body: JSON.stringify(given.body) }),
  });
  const { data } = (await response.json()) as Answer;
  return { status: response.status, data, runId: response.headers.get('x-run-id') ?? '' };
}

async function deployed(server: Served, name: string, drawn: Json): Promise<string> {
  const { workspaceId } = server;
  const made = await call(server, 'POST', '/workflows', { body: { workspaceId, name } });
  const path = `/workflows/${made.data.id}`;
  await call(server, 'PUT', `${path}/state`, { body: draftOf(drawn) });
  expect(await call(server, 'POST', `${path}/deploy`)).toMatchObject({ status: 200 });
  return path;
}

const wait = (name: string, seconds: number) =>
  block(name, 'wait', { timeValue: String(seconds), timeUnit: 'seconds' });
const ASK = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);

describe.skipIf(!hasPostgres)('heddle serve, several processes on PostgreSQL', { timeout: 180_000 }, () => {
  beforeAll(async () => {
    url = await postgresDatabase();
  });

  it('agree on run ids, versions and answers, and continue the runs of a killed or stopped process', async () => {
    const one = await served();
    expect(one.key).toMatch(/^sk-heddle-/);
    const two = await served(one);
    expect(two.key).toBe(one.key);
    const both = (n: number): Served => (n % 2 === 0 ? one : two);

    // A hundred starts with one id, fifty in each process.
    const path = await deployed(one, 'Claim', workflow([fn('F', 'return 1')], ['Start -> F']));
    const claims = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        call(both(n), 'POST', `${path}/execute`, { headers: { 'X-Run-Id': 'the-only-one' }, body: {} }),
      ),
    );
    expect(claims.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(claims.filter(({ status }) => status === 409)).toHaveLength(99);

    // Version numbers have no gaps and no duplicates, and one version is live.
    const versions = await Promise.all(
      Array.from({ length: 12 }, (_, n) => call(both(n), 'POST', `${path}/deploy`)),
    );
    const numbers = versions.map(({ data }) => Number(data['version']));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n + 2));
    await Promise.all([3, 5, 7, 9].map((v) => call(both(v >> 1), 'POST', `${path}/versions/${v}/activate`)));
    const listed = await call(two, 'GET', `${path}/versions?limit=100`);
    const live = (listed.data as unknown as { isActive: boolean; version: number }[]).filter(
      (v) => v.isActive,
    );
    expect(live).toHaveLength(1);
    expect([3, 5, 7, 9]).toContain(live[0]?.version);

    // Two answers to one pause, one in each process: the first one counts, and both get its result.
    const asking = await deployed(one, 'Ask', ASK);
    for (let round = 0; round < 4; round++) {
      const { runId } = await call(both(round), 'POST', `${asking}/execute`, { body: {} });
      const run = await call(one, 'GET', `${asking}/runs/${runId}`);
      const { contextId } = run.data['paused'] as { contextId: string };
      const answers = await Promise.all(
        [one, two].map((server, n) =>
          call(server, 'POST', `${asking}/runs/${runId}/resume`, { body: { contextId, input: { n } } }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers[0]?.data['output']).toEqual(answers[1]?.data['output']);
      expect(answers[0]?.data).toMatchObject({ status: 'completed' });
    }

    // A cancel in one process reaches a run of the other process.
    const slow = await deployed(one, 'Slow', workflow([wait('T', 3600)], ['Start -> T']));
    const started = await call(one, 'POST', `${slow}/execute`, { body: { async: true } });
    await expect
      .poll(async () => (await call(two, 'GET', `${slow}/runs/${started.runId}`)).data.status, TIMEOUT)
      .toBe('paused');
    expect(await call(two, 'POST', `${slow}/runs/${started.runId}/cancel`)).toMatchObject({ status: 200 });
    expect((await call(one, 'GET', `${slow}/runs/${started.runId}`)).data).toMatchObject({
      status: 'cancelled',
    });

    // One process is killed while its runs wait; the other process completes them.
    const waits = await deployed(
      one,
      'Wait',
      workflow([wait('T', 4), fn('F', 'return 7')], ['Start -> T -> F']),
    );
    const accepted = await Promise.all(
      Array.from({ length: 6 }, () => call(one, 'POST', `${waits}/execute`, { body: { async: true } })),
    );
    expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 202));
    one.process.child.kill('SIGKILL');
    for (const { runId } of accepted)
      await expect
        .poll(async () => (await call(two, 'GET', `${waits}/runs/${runId}?includeOutput=true`)).data, TIMEOUT)
        .toMatchObject({ status: 'completed', output: { result: 7 } });

    // A graceful shutdown hands over queued runs, and a waiting caller is asked to retry.
    const three = await served(one);
    const left = await call(two, 'POST', `${waits}/execute`, { body: { async: true } });
    expect(left.status).toBe(202);
    two.process.child.kill('SIGTERM');
    expect(await two.process.ended).toMatchObject({ exit: 0 });
    await expect
      .poll(async () => (await call(three, 'GET', `${waits}/runs/${left.runId}`)).data.status, TIMEOUT)
      .toBe('completed');
    three.process.child.kill('SIGTERM');
    expect(await three.process.ended).toMatchObject({ exit: 0 });
  });
});
