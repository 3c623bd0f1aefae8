import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { heddle, startHeddle } from '../support/heddle.ts';
import type { Started } from '../support/heddle.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { drawnTests, sample } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { code, start } from '../support/workflow-file.ts';
import type { DrawnWorkflow } from '../support/workflow-file.ts';
import { ON_TEMPORAL, placeOn } from './cli.ts';
import type { Place } from './cli.ts';
import { clientOf, eventsOf, historyText } from './history.ts';

const REMOTE = [...ON_TEMPORAL, '--no-worker'] as const;
const NAP = { type: 'wait', name: 'Nap', fields: { timeValue: '1', timeUnit: 'hours' } };
/** Returns a workflow that occupies a worker for `ms` milliseconds. */
const busy = (ms: number): DrawnWorkflow => ({
  blocks: { s: start(), work: code(`await new Promise((resolve) => setTimeout(resolve, ${ms})); return 7`) },
  edges: ['s > work'],
});
const WAITING: DrawnWorkflow = {
  blocks: { s: start(), first: code('return 1', { name: 'First' }), nap: NAP },
  edges: ['s > first', 'first > nap'],
};

interface Ready {
  queue: string;
  roles: string[];
  health: string;
  pid: number;
}

/** Starts a worker in its own process; resolves when it polls. */
async function workerAt(place: Place, ...args: string[]): Promise<{ worker: Started; ready: Ready }> {
  const worker = place.start(['worker', '--json', '--health', '0', ...args]);
  const ready = JSON.parse(await worker.line()) as Ready;
  return { worker, ready };
}

async function isAtWork({ health }: Ready): Promise<boolean> {
  const answer = await fetch(`${health}/metrics`);
  return /^heddle_activities_running [1-9]/m.test(await answer.text());
}

const drawn = drawnTests(1 / 2, 'tests of workers as processes');

describeTemporal('heddle worker', (server) => {
  drawn('runs a workflow that another process has started and waits for', async () => {
    const place = placeOn(server, {
      blocks: { s: start(), end: code('return {{NAME}}', { name: 'End' }) },
      edges: ['s > end'],
    });
    const { ready } = await workerAt(place, '--env', 'NAME=of the worker');
    expect(ready).toMatchObject({ queue: place.queue, roles: ['engine', 'effects', 'segments'] });
    expect(await (await fetch(`${ready.health}/healthz`)).text()).toBe('polling\n');
    const { exit, stdout, stderr } = await place.run('--no-worker', '--env', 'NAME=of the client');
    expect(stderr).toContain('! --env has no effect: workers have their own options.');
    expect(JSON.parse(stdout)).toMatchObject({ result: '«redacted:NAME»' });
    expect(exit).toBe(0);
  });

  drawn(
    'with a key encrypts the data of runs on the server; with --checkpoint block runs each block as an activity',
    async () => {
      const flow = { blocks: { s: start(), end: code('return "sheep in the clear"') }, edges: ['s > end'] };
      const place = placeOn(server, flow);
      const env = { HEDDLE_ENCRYPTION_KEYS: `new=${randomBytes(32).toString('base64')}` };
      const each = ['--checkpoint', 'block'];
      const worker = place.start(['worker', '--json', ...each], { env });
      await worker.line();
      const ran = await heddle(['run', 'flow.json', ...REMOTE, ...place.server, ...each, '--json'], {
        cwd: place.cwd,
        env,
      });
      expect(ran.exit, ran.stderr).toBe(0);
      const { runId } = (JSON.parse(ran.stdout) as { data: { runId: string } }).data;
      const client = await clientOf(server);
      const history = await historyText(client, runId);
      expect(history).toContain('binary/encrypted');
      expect(history).not.toContain('sheep');
      expect(await eventsOf(client, runId)).toMatchObject({ activityTaskScheduled: 2 });
    },
  );

  drawn('prints one line with its roles, queue, server and data folder', async () => {
    const place = placeOn(server, WAITING);
    const worker = place.start(['worker', '--roles', 'engine,effects']);
    expect(await worker.line()).toBe(
      `Ready: engine, effects on queue ${place.queue} at ${server.address}, namespace ${server.namespace}; data in ./.heddle`,
    );
  });

  drawn('on SIGTERM waits for running blocks and exits with 0', async () => {
    const place = placeOn(server, busy(2500));
    const { worker, ready } = await workerAt(place);
    const run = place.start(['run', 'flow.json', ...REMOTE]);
    await expect.poll(() => isAtWork(ready), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGTERM');
    const { exit, stderr } = await worker.ended;
    expect(exit).toBe(0);
    expect(stderr).toContain('Stopping: running blocks have 30 s');
    // The result was reported, so the next worker repeats no block.
    const { worker: next } = await workerAt(place);
    const ended = await run.ended;
    expect(JSON.parse(ended.stdout)).toMatchObject({ result: 7 });
    next.child.kill('SIGTERM');
    expect((await next.ended).exit).toBe(0);
  });

  drawn('cancels blocks that exceed the grace period, so that another worker runs them', async () => {
    const place = placeOn(server, busy(4000));
    const { worker, ready } = await workerAt(place, '--grace', '0');
    const run = place.start(['run', 'flow.json', ...REMOTE]);
    await expect.poll(() => isAtWork(ready), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGTERM');
    expect((await worker.ended).exit).toBe(0);
    await workerAt(place);
    const { exit, stdout } = await run.ended;
    expect(JSON.parse(stdout)).toMatchObject({ result: 7 });
    expect(exit).toBe(0);
  });

  drawn('exits with 130 on a second signal', async () => {
    const place = placeOn(server, busy(60_000));
    const { worker, ready } = await workerAt(place);
    place.start(['run', 'flow.json', ...REMOTE]);
    await expect.poll(() => isAtWork(ready), { timeout: 20_000 }).toBe(true);
    worker.child.kill('SIGINT');
    await worker.until('Stopping');
    const again = setInterval(() => worker.child.kill('SIGINT'), 250);
    const { exit } = await worker.ended;
    clearInterval(again);
    expect(exit).toBe(130);
  });

  const REFUSED: [what: string, args: string[], said: string][] = [
    ['an unknown role', ['--roles', 'engine,cook'], '"cook" is not a role. Use engine, effects, segments'],
    ['an invalid health address', ['--health', 'here'], 'Use HOST:PORT or PORT.'],
    ['an invalid grace period', ['--grace', 'long'], 'Use a number of seconds'],
    ['a data folder that is a file', ['--data', 'flow.json'], 'flow.json'],
    ['an unreachable server', ['--address', '127.0.0.1:9'], '127.0.0.1:9 cannot be reached'],
  ];

  it.each(sample(REFUSED, 2, 'invalid arguments of a worker'))(
    'exits with 2 for %s',
    async (_, args, said) => {
      const place = placeOn(server, WAITING);
      const { exit, stdout, stderr } = await heddle(['worker', ...place.server, ...args], { cwd: place.cwd });
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
      expect(stderr).toContain(said);
    },
  );
});

describeTemporal('runs of a shared folder', (server) => {
  async function waiting(): Promise<{ place: Place; runId: string; run: Started }> {
    const place = placeOn(server, WAITING);
    await workerAt(place);
    const run = place.start(['run', 'flow.json', ...REMOTE]);
    await run.until('‖ Nap');
    const [found] = await place.runs();
    return { place, runId: found!.runId, run };
  }

  drawn(
    'can be listed, shown and tailed while workers run them, and cancelled through their server',
    async () => {
      const { place, runId, run } = await waiting();
      const { cwd } = place;
      expect((await heddle(['runs', 'list'], { cwd })).stdout).toContain('paused: until ');
      expect((await heddle(['runs', 'show', runId], { cwd })).stdout).toMatch(/✓ {2}First/);
      const tail = startHeddle(['runs', 'tail', runId], { cwd });
      await tail.until('‖ Nap');
      const cancelled = await heddle(['runs', 'cancel', runId, ...ON_TEMPORAL, ...place.server], { cwd });
      expect(cancelled.exit, cancelled.stderr).toBe(0);
      for (const { exit, stdout, stderr } of await Promise.all([run.ended, tail.ended])) {
        expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' });
        expect(stderr).toContain('○ Cancelled');
      }
    },
  );

  drawn(
    'are neither cancelled nor resumed without the options of Temporal, which the error names',
    async () => {
      const { place, runId } = await waiting();
      for (const verb of ['cancel', 'resume']) {
        const { exit, stderr } = await heddle(['runs', verb, runId], { cwd: place.cwd });
        expect(exit).toBe(2);
        expect(stderr).toContain('--runtime temporal --address HOST:PORT');
      }
      expect(await place.runs()).toMatchObject([{ status: 'paused' }]);
    },
  );

  drawn('are not continued by a local process, and local runs not by Temporal', async () => {
    const place = placeOn(server, WAITING);
    const { cwd } = place;
    const { worker } = await workerAt(place);
    const run = place.start(['run', 'flow.json', ...REMOTE]);
    await run.until('‖ Nap');
    for (const each of [run, worker]) {
      each.child.kill('SIGKILL');
      await each.ended;
    }
    const local = startHeddle(['run', 'flow.json'], { cwd });
    await local.until('‖ Nap');
    local.child.kill('SIGKILL');
    await local.ended;
    const [here, there] = await place.runs();
    const took = await heddle(['runs', 'resume', there!.runId], { cwd });
    expect({ exit: took.exit, stdout: took.stdout }).toEqual({ exit: 2, stdout: '' });
    expect(took.stderr).toContain('--runtime temporal --address HOST:PORT');
    const asked = await heddle(['runs', 'cancel', here!.runId, ...ON_TEMPORAL, ...place.server], { cwd });
    expect(asked.exit).toBe(2);
    expect(asked.stderr).toContain('does not belong to this runtime');
    const going = startHeddle(['runs', 'resume', here!.runId], { cwd });
    await going.until(here!.runId.slice(-8));
    going.child.kill('SIGINT');
    expect((await going.ended).exit).toBe(4);
    expect(await place.runs()).toMatchObject([{ status: 'cancelled' }, { status: 'paused' }]);
  });

  drawn('without a worker keep a cancel request for the next worker, and inform the caller', async () => {
    const place = placeOn(server, WAITING);
    const run = place.start(['run', 'flow.json', ...REMOTE]);
    await expect.poll(async () => (await place.runs()).length, { timeout: 20_000 }).toBe(1);
    const [found] = await place.runs();
    const asked = await heddle(['runs', 'cancel', found!.runId, ...ON_TEMPORAL, ...place.server], {
      cwd: place.cwd,
    });
    expect(asked.exit).toBe(2);
    expect(asked.stderr).toContain('the next worker executes it');
    await workerAt(place);
    expect((await run.ended).exit).toBe(4);
  });
});

describeTemporal('runs in PostgreSQL', (server) => {
  it.skipIf(!hasPostgres)(
    'are run, listed, shown, tailed and rerun by commands that name the database',
    async () => {
      const url = await postgresDatabase();
      const place = placeOn(server, busy(1));
      const kept = ['--postgres', url];
      const ran = await place.run(...kept);
      expect(ran.exit, ran.stderr).toBe(0);
      const { cwd } = place;
      const listed = await heddle(['runs', 'list', '--json', ...kept], { cwd });
      const [{ runId }] = (JSON.parse(listed.stdout) as { data: [{ runId: string }] }).data;
      expect((await heddle(['runs', 'show', runId, ...kept], { cwd })).stdout).toContain('completed');
      expect((await heddle(['runs', 'tail', runId, ...kept], { cwd })).exit).toBe(0);
      const again = ['runs', 'rerun', runId, '--from', 'work', ...ON_TEMPORAL, ...place.server, ...kept];
      const { exit, stdout } = await heddle(again, { cwd });
      expect(JSON.parse(stdout)).toMatchObject({ result: 7 });
      expect(exit).toBe(0);
    },
  );
});
