import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findFreePorts } from '../../packages/temporal/src/server/dev-server.ts';
import { findReadinessProblem } from '../../packages/temporal/src/server/readiness.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddle } from '../support/heddle.ts';
import type { RunningCommand } from '../support/heddle.ts';
import { describeTemporal } from '../support/temporal.ts';
import { APPROVAL_WORKFLOW, workflowFile } from '../support/workflow-file.ts';

const TEST_OPTIONS = { timeout: 30_000 };

interface ReadyMessage {
  address: string;
  ui?: string;
  data: string;
}

describeTemporal('heddle dev', ({ binary = '', address: sharedServerAddress }) => {
  const env = { TEMPORAL_CLI: binary };

  async function startDev(
    cwd: string,
    port: number,
  ): Promise<{ command: RunningCommand; readyMessage: ReadyMessage }> {
    const command = startHeddle(['dev', '--port', String(port), '--json'], { cwd, env });
    return { command, readyMessage: JSON.parse(await command.readFirstLine()) as ReadyMessage };
  }

  it.skipIf(binary === '')(
    'starts a server and a worker, prints their addresses, stops both, and keeps its runs for the next start',
    TEST_OPTIONS,
    async () => {
      const cwd = createDataFolder();
      writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile(APPROVAL_WORKFLOW)));
      const [port = 0] = await findFreePorts(1);
      const first = await startDev(cwd, port);
      expect(first.readyMessage).toMatchObject({ address: `127.0.0.1:${port}`, data: './.heddle' });
      if (first.readyMessage.ui !== undefined) expect((await fetch(first.readyMessage.ui)).status).toBe(200);
      const remoteArgs = ['--runtime', 'temporal', '--no-worker', '--address', first.readyMessage.address];
      const runResult = await runHeddle(['run', 'flow.json', ...remoteArgs, '--json'], { cwd });
      expect(runResult.exitCode, runResult.stderr).toBe(3);
      const { runId } = (JSON.parse(runResult.stdout) as { data: { runId: string } }).data;
      first.command.child.kill('SIGINT');
      expect((await first.command.result).exitCode).toBe(0);
      expect(
        await findReadinessProblem({
          address: first.readyMessage.address,
          namespace: 'default',
          searchAttributes: [],
        }),
      ).toBe('nothing listens there');

      const second = await startDev(cwd, port);
      const input = ['--input', '{"ok": true}'];
      const resumeResult = await runHeddle(['runs', 'resume', runId, ...input, ...remoteArgs], { cwd });
      expect(JSON.parse(resumeResult.stdout || '0'), resumeResult.stderr).toMatchObject({ result: true });
      second.command.child.kill('SIGTERM');
      expect((await second.command.result).exitCode).toBe(0);
    },
  );

  it.skipIf(binary === '')('prints the addresses, and the command that runs a workflow there', async () => {
    const [port = 0] = await findFreePorts(1);
    const command = startHeddle(['dev', '--port', String(port), '--queue', 'mine'], {
      cwd: createDataFolder(),
      env,
    });
    await command.waitForText('Ctrl-C stops both.');
    command.child.kill('SIGINT');
    const { stdout } = await command.result;
    expect(stdout).toContain(`server  127.0.0.1:${port}, namespace default`);
    expect(stdout).toContain(
      `heddle run FILE --runtime temporal --no-worker --address 127.0.0.1:${port} --queue mine`,
    );
  });

  it.skipIf(binary === '')('stops its worker and exits with 1 when the server ends', async () => {
    const [port = 0] = await findFreePorts(1);
    const command = startHeddle(['dev', '--port', String(port), '--json'], { cwd: createDataFolder(), env });
    const { server } = JSON.parse(await command.readFirstLine()) as { server: number };
    process.kill(server, 'SIGKILL');
    const { exitCode, stderr } = await command.result;
    expect(stderr).toContain('The Temporal server has stopped: SIGKILL.');
    expect(exitCode).toBe(1);
  });

  it('uses the server that TEMPORAL_ADDRESS names, and leaves it running', async () => {
    const cwd = createDataFolder();
    const command = startHeddle(['dev', '--json', '--queue', 'dev-of-this-test'], {
      cwd,
      env: { TEMPORAL_ADDRESS: sharedServerAddress },
    });
    expect(JSON.parse(await command.readFirstLine())).toMatchObject({ address: sharedServerAddress });
    command.child.kill('SIGINT');
    expect((await command.result).exitCode).toBe(0);
    expect(
      await findReadinessProblem({
        address: sharedServerAddress,
        namespace: 'default',
        searchAttributes: [],
      }),
    ).not.toBe('nothing listens there');
  });

  it.each([
    ['no server can be found', [], { TEMPORAL_CLI: '/no/such/command' }, 'No Temporal server found.'],
    [
      'the port is taken',
      ['--port', sharedServerAddress.split(':')[1] ?? ''],
      env,
      'Use --port for another port.',
    ],
    ['the port is invalid', ['--port', '0'], env, 'Use a whole number from 1 to 65535.'],
  ])('reports the error with exit code 2 if %s', async (_, args, environment, message) => {
    const { exitCode, stdout, stderr } = await runHeddle(['dev', ...args], {
      cwd: createDataFolder(),
      env: environment,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});
