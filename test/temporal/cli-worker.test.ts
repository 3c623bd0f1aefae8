import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runHeddle, startHeddle } from '../support/heddle.ts';
import type { RunningCommand } from '../support/heddle.ts';
import { storeUnusedImage } from '../support/images.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sample, sampledTests } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { code, start } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';
import { TEMPORAL_RUNTIME_ARGS, createProject } from './cli.ts';
import type { Project } from './cli.ts';
import { openClient, countEvents, fetchHistoryText } from './history.ts';

const REMOTE_RUN_ARGS = [...TEMPORAL_RUNTIME_ARGS, '--no-worker'] as const;
const WAIT_BLOCK = { type: 'wait', name: 'Nap', fields: { timeValue: '1', timeUnit: 'hours' } };
/** Returns a workflow that occupies a worker for `ms` milliseconds. */
const busyWorkflow = (ms: number): WorkflowSettings => ({
  blocks: { s: start(), work: code(`await new Promise((resolve) => setTimeout(resolve, ${ms})); return 7`) },
  edges: ['s > work'],
});
const WAITING_WORKFLOW: WorkflowSettings = {
  blocks: { s: start(), first: code('return 1', { name: 'First' }), nap: WAIT_BLOCK },
  edges: ['s > first', 'first > nap'],
};

interface ReadyMessage {
  queue: string;
  roles: string[];
  health: string;
  pid: number;
}

/** Starts a worker in a separate process. Resolves when it polls. */
async function startWorker(
  project: Project,
  ...args: string[]
): Promise<{ worker: RunningCommand; readyMessage: ReadyMessage }> {
  const worker = project.start(['worker', '--json', '--health', '0', ...args]);
  const readyMessage = JSON.parse(await worker.readFirstLine()) as ReadyMessage;
  return { worker, readyMessage };
}

async function hasRunningActivity({ health }: ReadyMessage): Promise<boolean> {
  const response = await fetch(`${health}/metrics`);
  return /^heddle_activities_running [1-9]/m.test(await response.text());
}

const sampledIt = sampledTests(1 / 2, 'tests of workers as processes');

describeTemporal('heddle worker', (server) => {
  sampledIt('runs a workflow that another process has started and waits for', async () => {
    const project = createProject(server, {
      blocks: { s: start(), end: code('return {{NAME}}', { name: 'End' }) },
      edges: ['s > end'],
    });
    const { readyMessage } = await startWorker(project, '--env', 'NAME=of the worker');
    expect(readyMessage).toMatchObject({ queue: project.queue, roles: ['engine', 'effects', 'segments'] });
    expect(await (await fetch(`${readyMessage.health}/healthz`)).text()).toBe('polling\n');
    const { exitCode, stdout, stderr } = await project.run('--no-worker', '--env', 'NAME=of the client');
    expect(stderr).toContain('! --env has no effect: workers have their own options.');
    expect(JSON.parse(stdout)).toMatchObject({ result: '«redacted:NAME»' });
    expect(exitCode).toBe(0);
  });

  sampledIt(
    'with a key encrypts the data of runs on the server; with --checkpoint block runs each block as an activity',
    async () => {
      const flow = { blocks: { s: start(), end: code('return "sheep in the clear"') }, edges: ['s > end'] };
      const project = createProject(server, flow);
      const env = { HEDDLE_ENCRYPTION_KEYS: `new=${randomBytes(32).toString('base64')}` };
      const checkpointArgs = ['--checkpoint', 'block'];
      const worker = project.start(['worker', '--json', ...checkpointArgs], { env });
      await worker.readFirstLine();
      const run = await runHeddle(
        ['run', 'flow.json', ...REMOTE_RUN_ARGS, ...project.serverArgs, ...checkpointArgs, '--json'],
        {
          cwd: project.cwd,
          env,
        },
      );
      expect(run.exitCode, run.stderr).toBe(0);
      const { runId } = (JSON.parse(run.stdout) as { data: { runId: string } }).data;
      const client = await openClient(server);
      const history = await fetchHistoryText(client, runId);
      expect(history).toContain('binary/encrypted');
      expect(history).not.toContain('sheep');
      expect(await countEvents(client, runId)).toMatchObject({ activityTaskScheduled: 2 });
    },
  );

  sampledIt('prints one line with its roles, queue, server and data folder', async () => {
    const project = createProject(server, WAITING_WORKFLOW);
    const worker = project.start(['worker', '--roles', 'engine,effects']);
    expect(await worker.readFirstLine()).toBe(
      `Ready: engine, effects on queue ${project.queue} at ${server.address}, namespace ${server.namespace}; data in ./.heddle`,
    );
  });

  sampledIt('deletes unused images of its data folder', async () => {
    const project = createProject(server, WAITING_WORKFLOW);
    const file = await storeUnusedImage(join(project.cwd, '.heddle/images'));
    await startWorker(project);
    await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(false);
  });

  sampledIt('on SIGTERM waits for running blocks and exits with 0', async () => {
    const project = createProject(server, busyWorkflow(2500));
    const { worker, readyMessage } = await startWorker(project);
    const run = project.start(['run', 'flow.json', ...REMOTE_RUN_ARGS]);
    await expect.poll(() => hasRunningActivity(readyMessage), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGTERM');
    const { exitCode, stderr } = await worker.result;
    expect(exitCode).toBe(0);
    expect(stderr).toContain('Stopping: running blocks have 30 s');
    // The result was reported, so the next worker repeats no block.
    const { worker: nextWorker } = await startWorker(project);
    const runResult = await run.result;
    expect(JSON.parse(runResult.stdout)).toMatchObject({ result: 7 });
    nextWorker.child.kill('SIGTERM');
    expect((await nextWorker.result).exitCode).toBe(0);
  });

  sampledIt('cancels blocks that exceed the grace period, so that another worker runs them', async () => {
    const project = createProject(server, busyWorkflow(4000));
    const { worker, readyMessage } = await startWorker(project, '--grace', '0');
    const run = project.start(['run', 'flow.json', ...REMOTE_RUN_ARGS]);
    await expect.poll(() => hasRunningActivity(readyMessage), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGTERM');
    expect((await worker.result).exitCode).toBe(0);
    await startWorker(project);
    const { exitCode, stdout } = await run.result;
    expect(JSON.parse(stdout)).toMatchObject({ result: 7 });
    expect(exitCode).toBe(0);
  });

  sampledIt('exits with 130 on a second signal', async () => {
    const project = createProject(server, busyWorkflow(60_000));
    const { worker, readyMessage } = await startWorker(project);
    project.start(['run', 'flow.json', ...REMOTE_RUN_ARGS]);
    await expect.poll(() => hasRunningActivity(readyMessage), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGINT');
    await worker.waitForText('Stopping');
    const signalInterval = setInterval(() => worker.child.kill('SIGINT'), 250);
    const { exitCode } = await worker.result;
    clearInterval(signalInterval);
    expect(exitCode).toBe(130);
  });

  const INVALID_ARGUMENTS: [description: string, args: string[], message: string][] = [
    ['an unknown role', ['--roles', 'engine,cook'], '"cook" is not a role. Use engine, effects, segments'],
    ['an invalid health address', ['--health', 'here'], 'Use HOST:PORT or PORT.'],
    ['an invalid grace period', ['--grace', 'long'], 'Use a number of seconds'],
    ['a data folder that is a file', ['--data', 'flow.json'], 'flow.json'],
    ['an unreachable server', ['--address', '127.0.0.1:9'], '127.0.0.1:9 cannot be reached'],
  ];

  it.each(sample(INVALID_ARGUMENTS, 2, 'invalid arguments of a worker'))(
    'exits with 2 for %s',
    async (_, args, message) => {
      const project = createProject(server, WAITING_WORKFLOW);
      const { exitCode, stdout, stderr } = await runHeddle(['worker', ...project.serverArgs, ...args], {
        cwd: project.cwd,
      });
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(message);
    },
  );
});

describeTemporal('runs of a shared folder', (server) => {
  async function startWaitingRun(): Promise<{ project: Project; runId: string; run: RunningCommand }> {
    const project = createProject(server, WAITING_WORKFLOW);
    await startWorker(project);
    const run = project.start(['run', 'flow.json', ...REMOTE_RUN_ARGS]);
    await run.waitForText('‖ Nap');
    const [record] = await project.listRuns();
    return { project, runId: record!.runId, run };
  }

  sampledIt(
    'can be listed, shown and tailed while workers run them, and cancelled through their server',
    async () => {
      const { project, runId, run } = await startWaitingRun();
      const { cwd } = project;
      expect((await runHeddle(['runs', 'list'], { cwd })).stdout).toContain('paused: until ');
      expect((await runHeddle(['runs', 'show', runId], { cwd })).stdout).toMatch(/✓ {2}First/);
      const tail = startHeddle(['runs', 'tail', runId], { cwd });
      await tail.waitForText('‖ Nap');
      const cancelResult = await runHeddle(
        ['runs', 'cancel', runId, ...TEMPORAL_RUNTIME_ARGS, ...project.serverArgs],
        {
          cwd,
        },
      );
      expect(cancelResult.exitCode, cancelResult.stderr).toBe(0);
      for (const { exitCode, stdout, stderr } of await Promise.all([run.result, tail.result])) {
        expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
        expect(stderr).toContain('○ Cancelled');
      }
    },
  );

  sampledIt(
    'are neither cancelled nor resumed without the options of Temporal, which the error names',
    async () => {
      const { project, runId } = await startWaitingRun();
      for (const verb of ['cancel', 'resume']) {
        const { exitCode, stderr } = await runHeddle(['runs', verb, runId], { cwd: project.cwd });
        expect(exitCode).toBe(2);
        expect(stderr).toContain('--runtime temporal --address HOST:PORT');
      }
      expect(await project.listRuns()).toMatchObject([{ status: 'paused' }]);
    },
  );

  sampledIt(
    'on Temporal cannot be resumed locally, and local runs cannot be cancelled on Temporal',
    async () => {
      const project = createProject(server, WAITING_WORKFLOW);
      const { cwd } = project;
      const { worker } = await startWorker(project);
      const run = project.start(['run', 'flow.json', ...REMOTE_RUN_ARGS]);
      await run.waitForText('‖ Nap');
      for (const command of [run, worker]) {
        command.child.kill('SIGKILL');
        await command.result;
      }
      const localRun = startHeddle(['run', 'flow.json'], { cwd });
      await localRun.waitForText('‖ Nap');
      localRun.child.kill('SIGKILL');
      await localRun.result;
      const [localRecord, remoteRecord] = await project.listRuns();
      const resumeResult = await runHeddle(['runs', 'resume', remoteRecord!.runId], { cwd });
      expect({ exitCode: resumeResult.exitCode, stdout: resumeResult.stdout }).toEqual({
        exitCode: 2,
        stdout: '',
      });
      expect(resumeResult.stderr).toContain('--runtime temporal --address HOST:PORT');
      const cancelResult = await runHeddle(
        ['runs', 'cancel', localRecord!.runId, ...TEMPORAL_RUNTIME_ARGS, ...project.serverArgs],
        {
          cwd,
        },
      );
      expect(cancelResult.exitCode).toBe(2);
      expect(cancelResult.stderr).toContain('does not belong to this runtime');
      const localResume = startHeddle(['runs', 'resume', localRecord!.runId], { cwd });
      await localResume.waitForText(localRecord!.runId.slice(-8));
      localResume.child.kill('SIGINT');
      expect((await localResume.result).exitCode).toBe(4);
      expect(await project.listRuns()).toMatchObject([{ status: 'cancelled' }, { status: 'paused' }]);
    },
  );

  sampledIt(
    'without a worker keep a cancel request for the next worker, and the command says so',
    async () => {
      const project = createProject(server, WAITING_WORKFLOW);
      const run = project.start(['run', 'flow.json', ...REMOTE_RUN_ARGS]);
      await expect.poll(async () => (await project.listRuns()).length, { timeout: 20_000 }).toBe(1);
      const [record] = await project.listRuns();
      const cancelResult = await runHeddle(
        ['runs', 'cancel', record!.runId, ...TEMPORAL_RUNTIME_ARGS, ...project.serverArgs],
        {
          cwd: project.cwd,
        },
      );
      expect(cancelResult.exitCode).toBe(2);
      expect(cancelResult.stderr).toContain('the next worker cancels the run');
      await startWorker(project);
      expect((await run.result).exitCode).toBe(4);
    },
  );
});

describeTemporal('runs in PostgreSQL', (server) => {
  it.skipIf(!hasPostgres)(
    'can be started, listed, shown, tailed and rerun by commands that name the database',
    async () => {
      const url = await createPostgresDatabase();
      const project = createProject(server, busyWorkflow(1));
      const storeArgs = ['--postgres', url];
      const result = await project.run(...storeArgs);
      expect(result.exitCode, result.stderr).toBe(0);
      const { cwd } = project;
      const listResult = await runHeddle(['runs', 'list', '--json', ...storeArgs], { cwd });
      const [{ runId }] = (JSON.parse(listResult.stdout) as { data: [{ runId: string }] }).data;
      expect((await runHeddle(['runs', 'show', runId, ...storeArgs], { cwd })).stdout).toContain('completed');
      expect((await runHeddle(['runs', 'tail', runId, ...storeArgs], { cwd })).exitCode).toBe(0);
      const rerunArgs = [
        'runs',
        'rerun',
        runId,
        '--from',
        'work',
        ...TEMPORAL_RUNTIME_ARGS,
        ...project.serverArgs,
        ...storeArgs,
      ];
      const { exitCode, stdout } = await runHeddle(rerunArgs, { cwd });
      expect(JSON.parse(stdout)).toMatchObject({ result: 7 });
      expect(exitCode).toBe(0);
    },
  );
});
