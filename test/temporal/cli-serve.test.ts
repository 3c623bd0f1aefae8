import { expect, it } from 'vitest';
import { draftOf } from '../support/api.ts';
import { startHeddleServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { TEMPORAL_RUNTIME_ARGS, createProject } from './cli.ts';

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
const DEFINITION = workflow(
  [
    block('T', 'wait', { timeValue: '2', timeUnit: 'seconds' }),
    block('H', 'human_in_the_loop'),
    fn('F', 'return <h.n> + 1'),
  ],
  ['Start -> T -> H -> F'],
);

/**
 * Starts `heddle serve` with these options of the server and the store. `previousServer`: an earlier process with the
 * same store, whose key and workspace are used.
 */
async function startServer(
  serverArgs: readonly string[],
  storeArgs: readonly string[],
  previousServer?: Server,
): Promise<Server> {
  const args = ['--grace', '5', ...TEMPORAL_RUNTIME_ARGS, ...serverArgs, ...storeArgs];
  const server = { ...previousServer, ...(await startHeddleServe(args, { env: SECRET_ENV })) };
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
async function completeRunAfterRestart(
  serverArgs: readonly string[],
  storeArgs: readonly string[],
): Promise<RunView> {
  const firstServer = await startServer(serverArgs, storeArgs);
  const { workspaceId } = firstServer;
  const createResponse = await firstServer.call('POST', '/workflows', { workspaceId, name: 'Ask' });
  const path = `/workflows/${createResponse.data.id}`;
  await firstServer.call('PUT', `${path}/state`, draftOf(DEFINITION));
  expect(await firstServer.call('POST', `${path}/deploy`)).toMatchObject({ status: 200 });
  const { status, runId } = await firstServer.call('POST', `${path}/execute`, { async: true });
  expect(status).toBe(202);
  const runPath = `${path}/runs/${runId}`;
  await expect
    .poll(async () => (await firstServer.call('GET', runPath)).data.status, {
      timeout: 30_000,
      interval: 100,
    })
    .toBe('paused');
  firstServer.process.child.kill('SIGKILL');
  await firstServer.process.result;

  const secondServer = await startServer(serverArgs, storeArgs, firstServer);
  const readPause = async () => (await secondServer.call('GET', runPath)).data.paused;
  await expect.poll(readPause, { timeout: 60_000, interval: 100 }).toMatchObject({ pauseKind: 'human' });
  const { contextId } = await readPause();
  expect(await secondServer.call('POST', `${runPath}/resume`, { contextId, input: { n: 41 } })).toMatchObject(
    {
      status: 202,
    },
  );
  const readRun = async () => (await secondServer.call('GET', `${runPath}?includeOutput=true`)).data;
  await expect
    .poll(async () => (await readRun()).status, { timeout: 60_000, interval: 100 })
    .toBe('completed');
  const run = await readRun();
  secondServer.process.child.kill('SIGTERM');
  expect(await secondServer.process.result).toMatchObject({ exitCode: 0 });
  return run;
}

describeTemporal('heddle serve --runtime temporal', (server) => {
  const emptyWorkflow = { blocks: {}, edges: [] };

  it('continues its runs after a kill, with records in a folder', { timeout: 240_000 }, async () => {
    const run = await completeRunAfterRestart(createProject(server, emptyWorkflow).serverArgs, [
      '--data',
      createDataFolder(),
    ]);
    expect(run).toMatchObject({ output: { result: 42 } });
  });

  it.skipIf(!hasPostgres)(
    'continues its runs after a kill, with records in PostgreSQL',
    { timeout: 240_000 },
    async () => {
      const run = await completeRunAfterRestart(createProject(server, emptyWorkflow).serverArgs, [
        '--postgres',
        await createPostgresDatabase(),
      ]);
      expect(run).toMatchObject({ output: { result: 42 } });
    },
  );
});
