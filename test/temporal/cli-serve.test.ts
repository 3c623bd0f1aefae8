import { expect, it } from 'vitest';
import { draftOf } from '../support/api.ts';
import { startServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { dataFolder } from '../support/data-folder.ts';
import { ON_TEMPORAL, createProject } from './cli.ts';

interface Server extends RunningServer {
  call(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; runId: string; data: RunView }>;
}

interface RunView {
  id: string;
  status: string;
  output: unknown;
  paused: { contextId: string };
}

const SECRET_ENV = { HEDDLE_API_SECRET: 'a secret of at least thirty-two characters' };
const GRAPH = workflow(
  [
    block('T', 'wait', { timeValue: '2', timeUnit: 'seconds' }),
    block('H', 'human_in_the_loop'),
    fn('F', 'return <h.n> + 1'),
  ],
  ['Start -> T -> H -> F'],
);

/**
 * Starts `heddle serve` with these options of the server and the store. `previous`: an earlier process with the same
 * store, whose key and workspace are used.
 */
async function startServer(
  serverArgs: readonly string[],
  storeArgs: readonly string[],
  previous?: Server,
): Promise<Server> {
  const args = ['--grace', '5', ...ON_TEMPORAL, ...serverArgs, ...storeArgs];
  const server = { ...previous, ...(await startServe(args, { env: SECRET_ENV })) };
  const { url, key } = server;
  return {
    ...server,
    call: async (method, path, body) => {
      const response = await fetch(`${url}/api/v2${path}`, {
        method,
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { data } = (await response.json()) as { data: RunView };
      return { status: response.status, data, runId: response.headers.get('x-run-id') ?? '' };
    },
  };
}

/** Starts a run in a process, kills the process, and resumes the run in another process. Returns the ended run. */
async function runAfterRestart(
  serverArgs: readonly string[],
  storeArgs: readonly string[],
): Promise<RunView> {
  const first = await startServer(serverArgs, storeArgs);
  const { workspaceId } = first;
  const created = await first.call('POST', '/workflows', { workspaceId, name: 'Ask' });
  const path = `/workflows/${created.data.id}`;
  await first.call('PUT', `${path}/state`, draftOf(GRAPH));
  expect(await first.call('POST', `${path}/deploy`)).toMatchObject({ status: 200 });
  const { status, runId } = await first.call('POST', `${path}/execute`, { async: true });
  expect(status).toBe(202);
  const runPath = `${path}/runs/${runId}`;
  await expect
    .poll(async () => (await first.call('GET', runPath)).data.status, { timeout: 30_000, interval: 100 })
    .toBe('paused');
  first.process.child.kill('SIGKILL');
  await first.process.ended;

  const second = await startServer(serverArgs, storeArgs, first);
  const readPause = async () => (await second.call('GET', runPath)).data.paused;
  await expect.poll(readPause, { timeout: 60_000, interval: 100 }).toMatchObject({ pauseKind: 'human' });
  const { contextId } = await readPause();
  expect(await second.call('POST', `${runPath}/resume`, { contextId, input: { n: 41 } })).toMatchObject({
    status: 202,
  });
  const readRun = async () => (await second.call('GET', `${runPath}?includeOutput=true`)).data;
  await expect
    .poll(async () => (await readRun()).status, { timeout: 60_000, interval: 100 })
    .toBe('completed');
  const run = await readRun();
  second.process.child.kill('SIGTERM');
  expect(await second.process.ended).toMatchObject({ exit: 0 });
  return run;
}

describeTemporal('heddle serve --runtime temporal', (server) => {
  const emptyWorkflow = { blocks: {}, edges: [] };

  it('continues its runs after a kill, with records in a folder', { timeout: 240_000 }, async () => {
    const run = await runAfterRestart(createProject(server, emptyWorkflow).serverArgs, [
      '--data',
      dataFolder(),
    ]);
    expect(run).toMatchObject({ output: { result: 42 } });
  });

  it.skipIf(!hasPostgres)(
    'continues its runs after a kill, with records in PostgreSQL',
    { timeout: 240_000 },
    async () => {
      const run = await runAfterRestart(createProject(server, emptyWorkflow).serverArgs, [
        '--postgres',
        await postgresDatabase(),
      ]);
      expect(run).toMatchObject({ output: { result: 42 } });
    },
  );
});
