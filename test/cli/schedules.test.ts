import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';

type Schedule = { [key: string]: unknown };
type RunCommand = (...args: string[]) => ReturnType<typeof runHeddle>;

/** Starts a server in a folder with workflow files. Returns a function that runs commands in the folder. */
async function startServer(): Promise<RunCommand> {
  const cwd = createDataFolder();
  const monthlyFields = { scheduleType: 'monthly', monthlyDay: 1, monthlyTime: '09:00' };
  writeFileSync(join(cwd, 'monthly.json'), JSON.stringify(createTriggerWorkflow(monthlyFields)));
  writeFileSync(join(cwd, 'news.json'), JSON.stringify(createTriggerWorkflow({}, { type: 'trigger' })));
  writeFileSync(join(cwd, 'broken.json'), JSON.stringify(createTriggerWorkflow({ dailyTime: 'noon' })));
  const { url, workspaceId, key } = await startHeddleServe(['--grace', '1'], { cwd });
  const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
  return (...args) => runHeddle(args, { cwd, env });
}

async function listSchedules(run: RunCommand): Promise<Schedule[]> {
  const { stdout } = await run('schedules', 'list', '--json');
  return (JSON.parse(stdout) as { data: Schedule[] }).data;
}

describe('schedules', { timeout: 120_000 }, () => {
  it('of deployed workflows are listed, paused, resumed, triggered and backfilled by heddle schedules', async () => {
    const run = await startServer();
    expect(await run('schedules', 'list')).toMatchObject({ exitCode: 0, stderr: 'No schedules.\n' });
    expect(await run('deploy', 'monthly.json', '--name', 'monthly')).toMatchObject({
      exitCode: 0,
      stderr: '',
    });

    const { stdout } = await run('schedules', 'list');
    expect(stdout).toMatch(/^WORKFLOW +BLOCK +STATE +NEXT +LAST +ID +ERROR\n/);
    expect(stdout).toMatch(/\nmonthly +Clock +active +\d{4}-\d\d-01T09:00:00.000Z +- +[0-9a-f-]{36}\n$/);

    const pauseResult = await run('schedules', 'pause', 'monthly');
    expect(pauseResult).toMatchObject({ exitCode: 0, stderr: '✓ The schedule of monthly is paused.\n' });
    const [schedule] = await listSchedules(run);
    expect(schedule).toMatchObject({ state: 'paused', nextDueAt: null });
    const resumeResult = await run('schedules', 'resume', String(schedule?.['id']));
    expect(resumeResult.stderr).toMatch(/^✓ The schedule of monthly is active. Its next run is due at /);

    const triggerResult = await run('schedules', 'trigger', 'monthly');
    expect(triggerResult).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });

    const rangeArgs = ['--from', '2025-01-01T00:00:00Z', '--to', '2025-03-31T00:00:00Z'];
    const backfillResult = await run('schedules', 'backfill', 'monthly', ...rangeArgs);
    const message = '✓ 3 runs of monthly started; 0 had been started before.\n';
    expect(backfillResult).toMatchObject({ exitCode: 0, stderr: message });
    expect(backfillResult.stdout.trim().split('\n')).toHaveLength(3);
    const repeatedResult = await run('schedules', 'backfill', 'monthly', ...rangeArgs, '--json');
    expect(JSON.parse(repeatedResult.stdout)).toEqual({
      data: { started: [], alreadyStarted: 3, refused: null },
    });
    const excessiveResult = await run('schedules', 'backfill', 'monthly', ...rangeArgs, '--limit', '2');
    expect(excessiveResult).toMatchObject({ exitCode: 2, stdout: '' });
    expect(excessiveResult.stderr).toContain('More than 2 runs were due');

    const unknownResult = await run('schedules', 'pause', 'weekly');
    expect(unknownResult.exitCode).toBe(2);
    expect(unknownResult.stderr).toContain('The workspace has no schedule "weekly"');
  });

  it('are checked by heddle check and heddle deploy, which warn about triggers that do not fire', async () => {
    const run = await startServer();
    const newsResult = await run('check', 'news.json');
    expect(newsResult).toMatchObject({ exitCode: 0 });
    const warning = 'Nothing fires "Clock": this host has no events for triggers of the type "trigger"';
    expect(newsResult.stdout).toContain(warning);
    const brokenResult = await run('check', 'broken.json');
    expect(brokenResult.stdout).toContain(
      'The field "dailyTime" of "Clock" is not a time of day such as 09:30.',
    );
    const deployResult = await run('deploy', 'news.json', '--name', 'news');
    expect(deployResult).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(warning) });
    const refusedResult = await run('deploy', 'broken.json', '--name', 'broken');
    expect(refusedResult).toMatchObject({ exitCode: 2 });
    expect(refusedResult.stderr).toContain('Triggers of the workflow cannot fire');
  });
});
