import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { heddle, startHeddle } from '../support/heddle.ts';
import type { RunningCommand } from '../support/heddle.ts';
import { storeUnusedImage } from '../support/images.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { sample, sampledTests } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { code, start } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';
import { ON_TEMPORAL, createProject } from './cli.ts';
import type { Project } from './cli.ts';
import { clientOf, eventCountsOf, historyText } from './history.ts';

const REMOTE = [...ON_TEMPORAL, '--no-worker'] as const;
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

interface Ready {
  queue: string;
  roles: string[];
  health: string;
  pid: number;
}

/** Starts a worker in a separate process. Resolves when it polls. */
async function startWorker(
  project: Project,
  ...args: string[]
): Promise<{ worker: RunningCommand; ready: Ready }> {
  const worker = project.start(['worker', '--json', '--health', '0', ...args]);
  const ready = JSON.parse(await worker.firstLine()) as Ready;
  return { worker, ready };
}

async function hasRunningActivity({ health }: Ready): Promise<boolean> {
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
    const { ready } = await startWorker(project, '--env', 'NAME=of the worker');
    expect(ready).toMatchObject({ queue: project.queue, roles: ['engine', 'effects', 'segments'] });
    expect(await (await fetch(`${ready.health}/healthz`)).text()).toBe('polling\n');
    const { exit, stdout, stderr } = await project.run('--no-worker', '--env', 'NAME=of the client');
    expect(stderr).toContain('! --env has no effect: workers have their own options.');
    expect(JSON.parse(stdout)).toMatchObject({ result: '«redacted:NAME»' });
    expect(exit).toBe(0);
  });

  sampledIt(
    'with a key encrypts the data of runs on the server; with --checkpoint block runs each block as an activity',
    async () => {
      const flow = { blocks: { s: start(), end: code('return "sheep in the clear"') }, edges: ['s > end'] };
      const project = createProject(server, flow);
      const env = { HEDDLE_ENCRYPTION_KEYS: `new=${randomBytes(32).toString('base64')}` };
      const checkpoint = ['--checkpoint', 'block'];
      const worker = project.start(['worker', '--json', ...checkpoint], { env });
      await worker.firstLine();
      const run = await heddle(
        ['run', 'flow.json', ...REMOTE, ...project.serverArgs, ...checkpoint, '--json'],
        {
          cwd: project.cwd,
          env,
        },
      );
      expect(run.exit, run.stderr).toBe(0);
      const { runId } = (JSON.parse(run.stdout) as { data: { runId: string } }).data;
      const client = await clientOf(server);
      const history = await historyText(client, runId);
      expect(history).toContain('binary/encrypted');
      expect(history).not.toContain('sheep');
      expect(await eventCountsOf(client, runId)).toMatchObject({ activityTaskScheduled: 2 });
    },
  );

  sampledIt('prints one line with its roles, queue, server and data folder', async () => {
    const project = createProject(server, WAITING_WORKFLOW);
    const worker = project.start(['worker', '--roles', 'engine,effects']);
    expect(await worker.firstLine()).toBe(
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
    const { worker, ready } = await startWorker(project);
    const run = project.start(['run', 'flow.json', ...REMOTE]);
    await expect.poll(() => hasRunningActivity(ready), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGTERM');
    const { exit, stderr } = await worker.ended;
    expect(exit).toBe(0);
    expect(stderr).toContain('Stopping: running blocks have 30 s');
    // The result was reported, so the next worker repeats no block.
    const { worker: next } = await startWorker(project);
    const ended = await run.ended;
    expect(JSON.parse(ended.stdout)).toMatchObject({ result: 7 });
    next.child.kill('SIGTERM');
    expect((await next.ended).exit).toBe(0);
  });

  sampledIt('cancels blocks that exceed the grace period, so that another worker runs them', async () => {
    const project = createProject(server, busyWorkflow(4000));
    const { worker, ready } = await startWorker(project, '--grace', '0');
    const run = project.start(['run', 'flow.json', ...REMOTE]);
    await expect.poll(() => hasRunningActivity(ready), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGTERM');
    expect((await worker.ended).exit).toBe(0);
    await startWorker(project);
    const { exit, stdout } = await run.ended;
    expect(JSON.parse(stdout)).toMatchObject({ result: 7 });
    expect(exit).toBe(0);
  });

  sampledIt('exits with 130 on a second signal', async () => {
    const project = createProject(server, busyWorkflow(60_000));
    const { worker, ready } = await startWorker(project);
    project.start(['run', 'flow.json', ...REMOTE]);
    await expect.poll(() => hasRunningActivity(ready), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGINT');
    await worker.waitForText('Stopping');
    const signals = setInterval(() => worker.child.kill('SIGINT'), 250);
    const { exit } = await worker.ended;
    clearInterval(signals);
    expect(exit).toBe(130);
  });

  const INVALID_ARGUMENTS: [what: string, args: string[], message: string][] = [
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
      const { exit, stdout, stderr } = await heddle(['worker', ...project.serverArgs, ...args], {
        cwd: project.cwd,
      });
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
      expect(stderr).toContain(message);
    },
  );
});

describeTemporal('runs of a shared folder', (server) => {
  async function startWaitingRun(): Promise<{ project: Project; runId: string; run: RunningCommand }> {
    const project = createProject(server, WAITING_WORKFLOW);
    await startWorker(project);
    const run = project.start(['run', 'flow.json', ...REMOTE]);
    await run.waitForText('‖ Nap');
    const [record] = await project.runs();
    return { project, runId: record!.runId, run };
  }

  sampledIt(
    'can be listed, shown and tailed while workers run them, and cancelled through their server',
    async () => {
      const { project, runId, run } = await startWaitingRun();
      const { cwd } = project;
      expect((await heddle(['runs', 'list'], { cwd })).stdout).toContain('paused: until ');
      expect((await heddle(['runs', 'show', runId], { cwd })).stdout).toMatch(/✓ {2}First/);
      const tail = startHeddle(['runs', 'tail', runId], { cwd });
      await tail.waitForText('‖ Nap');
      const cancelled = await heddle(['runs', 'cancel', runId, ...ON_TEMPORAL, ...project.serverArgs], {
        cwd,
      });
      expect(cancelled.exit, cancelled.stderr).toBe(0);
      for (const { exit, stdout, stderr } of await Promise.all([run.ended, tail.ended])) {
        expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' });
        expect(stderr).toContain('○ Cancelled');
      }
    },
  );

  sampledIt(
    'are neither cancelled nor resumed without the options of Temporal, which the error names',
    async () => {
      const { project, runId } = await startWaitingRun();
      for (const verb of ['cancel', 'resume']) {
        const { exit, stderr } = await heddle(['runs', verb, runId], { cwd: project.cwd });
        expect(exit).toBe(2);
        expect(stderr).toContain('--runtime temporal --address HOST:PORT');
      }
      expect(await project.runs()).toMatchObject([{ status: 'paused' }]);
    },
  );

  sampledIt(
    'on Temporal cannot be resumed locally, and local runs cannot be cancelled on Temporal',
    async () => {
      const project = createProject(server, WAITING_WORKFLOW);
      const { cwd } = project;
      const { worker } = await startWorker(project);
      const run = project.start(['run', 'flow.json', ...REMOTE]);
      await run.waitForText('‖ Nap');
      for (const command of [run, worker]) {
        command.child.kill('SIGKILL');
        await command.ended;
      }
      const localRun = startHeddle(['run', 'flow.json'], { cwd });
      await localRun.waitForText('‖ Nap');
      localRun.child.kill('SIGKILL');
      await localRun.ended;
      const [local, remote] = await project.runs();
      const resumed = await heddle(['runs', 'resume', remote!.runId], { cwd });
      expect({ exit: resumed.exit, stdout: resumed.stdout }).toEqual({ exit: 2, stdout: '' });
      expect(resumed.stderr).toContain('--runtime temporal --address HOST:PORT');
      const cancelled = await heddle(
        ['runs', 'cancel', local!.runId, ...ON_TEMPORAL, ...project.serverArgs],
        {
          cwd,
        },
      );
      expect(cancelled.exit).toBe(2);
      expect(cancelled.stderr).toContain('does not belong to this runtime');
      const resumedLocally = startHeddle(['runs', 'resume', local!.runId], { cwd });
      await resumedLocally.waitForText(local!.runId.slice(-8));
      resumedLocally.child.kill('SIGINT');
      expect((await resumedLocally.ended).exit).toBe(4);
      expect(await project.runs()).toMatchObject([{ status: 'cancelled' }, { status: 'paused' }]);
    },
  );

  sampledIt(
    'without a worker keep a cancel request for the next worker, and the command says so',
    async () => {
      const project = createProject(server, WAITING_WORKFLOW);
      const run = project.start(['run', 'flow.json', ...REMOTE]);
      await expect.poll(async () => (await project.runs()).length, { timeout: 20_000 }).toBe(1);
      const [record] = await project.runs();
      const cancelled = await heddle(
        ['runs', 'cancel', record!.runId, ...ON_TEMPORAL, ...project.serverArgs],
        {
          cwd: project.cwd,
        },
      );
      expect(cancelled.exit).toBe(2);
      expect(cancelled.stderr).toContain('the next worker cancels the run');
      await startWorker(project);
      expect((await run.ended).exit).toBe(4);
    },
  );
});

describeTemporal('runs in PostgreSQL', (server) => {
  it.skipIf(!hasPostgres)(
    'can be started, listed, shown, tailed and rerun by commands that name the database',
    async () => {
      const url = await postgresDatabase();
      const project = createProject(server, busyWorkflow(1));
      const store = ['--postgres', url];
      const result = await project.run(...store);
      expect(result.exit, result.stderr).toBe(0);
      const { cwd } = project;
      const list = await heddle(['runs', 'list', '--json', ...store], { cwd });
      const [{ runId }] = (JSON.parse(list.stdout) as { data: [{ runId: string }] }).data;
      expect((await heddle(['runs', 'show', runId, ...store], { cwd })).stdout).toContain('completed');
      expect((await heddle(['runs', 'tail', runId, ...store], { cwd })).exit).toBe(0);
      const rerun = [
        'runs',
        'rerun',
        runId,
        '--from',
        'work',
        ...ON_TEMPORAL,
        ...project.serverArgs,
        ...store,
      ];
      const { exit, stdout } = await heddle(rerun, { cwd });
      expect(JSON.parse(stdout)).toMatchObject({ result: 7 });
      expect(exit).toBe(0);
    },
  );
});
