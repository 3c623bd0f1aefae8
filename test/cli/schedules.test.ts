import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle, startServe } from '../support/heddle.ts';
import { triggerWorkflow } from '../support/trigger-workflow.ts';

type Schedule = { [key: string]: unknown };
type RunCommand = (...args: string[]) => ReturnType<typeof heddle>;

/** Starts a server in a folder with workflow files. Returns a function that runs commands in the folder. */
async function startServer(): Promise<RunCommand> {
  const cwd = dataFolder();
  const monthly = { scheduleType: 'monthly', monthlyDay: 1, monthlyTime: '09:00' };
  writeFileSync(join(cwd, 'monthly.json'), JSON.stringify(triggerWorkflow(monthly)));
  writeFileSync(join(cwd, 'news.json'), JSON.stringify(triggerWorkflow({}, { type: 'trigger' })));
  writeFileSync(join(cwd, 'broken.json'), JSON.stringify(triggerWorkflow({ dailyTime: 'noon' })));
  const { url, workspaceId, key } = await startServe(['--grace', '1'], { cwd });
  const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
  return (...args) => heddle(args, { cwd, env });
}

async function listSchedules(run: RunCommand): Promise<Schedule[]> {
  const { stdout } = await run('schedules', 'list', '--json');
  return (JSON.parse(stdout) as { data: Schedule[] }).data;
}

describe('schedules', { timeout: 120_000 }, () => {
  it('of deployed workflows are listed, paused, resumed, triggered and backfilled by heddle schedules', async () => {
    const run = await startServer();
    expect(await run('schedules', 'list')).toMatchObject({ exit: 0, stderr: 'No schedules.\n' });
    expect(await run('deploy', 'monthly.json', '--name', 'monthly')).toMatchObject({ exit: 0, stderr: '' });

    const { stdout } = await run('schedules', 'list');
    expect(stdout).toMatch(/^WORKFLOW +BLOCK +STATE +NEXT +LAST +ID +ERROR\n/);
    expect(stdout).toMatch(/\nmonthly +Clock +active +\d{4}-\d\d-01T09:00:00.000Z +- +[0-9a-f-]{36}\n$/);

    const paused = await run('schedules', 'pause', 'monthly');
    expect(paused).toMatchObject({ exit: 0, stderr: '✓ The schedule of monthly is paused.\n' });
    const [schedule] = await listSchedules(run);
    expect(schedule).toMatchObject({ state: 'paused', nextDueAt: null });
    const resumed = await run('schedules', 'resume', String(schedule?.['id']));
    expect(resumed.stderr).toMatch(/^✓ The schedule of monthly is active. Its next run is due at /);

    const triggered = await run('schedules', 'trigger', 'monthly');
    expect(triggered).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });

    const range = ['--from', '2025-01-01T00:00:00Z', '--to', '2025-03-31T00:00:00Z'];
    const backfill = await run('schedules', 'backfill', 'monthly', ...range);
    const message = '✓ 3 runs of monthly started; 0 had been started before.\n';
    expect(backfill).toMatchObject({ exit: 0, stderr: message });
    expect(backfill.stdout.trim().split('\n')).toHaveLength(3);
    const repeated = await run('schedules', 'backfill', 'monthly', ...range, '--json');
    expect(JSON.parse(repeated.stdout)).toEqual({ data: { started: [], alreadyStarted: 3, refused: null } });
    const tooMany = await run('schedules', 'backfill', 'monthly', ...range, '--limit', '2');
    expect(tooMany).toMatchObject({ exit: 2, stdout: '' });
    expect(tooMany.stderr).toContain('More than 2 runs were due');

    const unknown = await run('schedules', 'pause', 'weekly');
    expect(unknown.exit).toBe(2);
    expect(unknown.stderr).toContain('The workspace has no schedule "weekly"');
  });

  it('are checked by heddle check and heddle deploy, which warn about triggers that do not fire', async () => {
    const run = await startServer();
    const news = await run('check', 'news.json');
    expect(news).toMatchObject({ exit: 0 });
    const warning = 'Nothing fires "Clock": this host has no events for triggers of the type "trigger"';
    expect(news.stdout).toContain(warning);
    const broken = await run('check', 'broken.json');
    expect(broken.stdout).toContain('The field "dailyTime" of "Clock" is not a time of day such as 09:30.');
    const deployed = await run('deploy', 'news.json', '--name', 'news');
    expect(deployed).toMatchObject({ exit: 0, stderr: expect.stringContaining(warning) });
    const refused = await run('deploy', 'broken.json', '--name', 'broken');
    expect(refused).toMatchObject({ exit: 2 });
    expect(refused.stderr).toContain('Triggers of the workflow cannot fire');
  });
});
