import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle, startHeddle } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';

describe('a run whose process died', () => {
  const SHORT_WAIT: WorkflowSettings = {
    blocks: {
      s: start(),
      nap: { type: 'wait', name: 'Nap', fields: { timeValue: '2', timeUnit: 'seconds' } },
      end: code('return "woken"', { name: 'End' }),
    },
    edges: ['s > nap', 'nap > end'],
  };
  const STUCK: WorkflowSettings = {
    blocks: { s: start(), stuck: code('await new Promise(() => {})', { name: 'Stuck' }) },
    edges: ['s > stuck'],
  };

  /** Starts a run, kills its process when it has printed `output`, and returns the id of the run. */
  async function startAndKillRun(cwd: string, workflow: WorkflowSettings, output: string): Promise<string> {
    writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile(workflow)));
    const command = startHeddle(['run', 'flow.json'], { cwd });
    await command.waitForText(output);
    expect(await readLatestRun(cwd)).toMatchObject({ interrupted: false });
    command.child.kill('SIGKILL');
    await command.ended;
    return (await readLatestRun(cwd)).runId;
  }

  async function readLatestRun(
    cwd: string,
  ): Promise<{ runId: string; status: string; interrupted: boolean }> {
    const { stdout } = await heddle(['runs', 'list', '--json'], { cwd });
    return (JSON.parse(stdout) as { data: [{ runId: string; status: string; interrupted: boolean }] })
      .data[0];
  }

  it('is shown as interrupted, with the command that resumes it, until it continues', async () => {
    const cwd = dataFolder();
    const runId = await startAndKillRun(cwd, STUCK, '… Stuck is still running');
    expect(await readLatestRun(cwd)).toMatchObject({ status: 'running', interrupted: true });
    expect((await heddle(['runs', 'list'], { cwd })).stdout).toContain('running (interrupted)');
    const { stdout } = await heddle(['runs', 'show', runId], { cwd });
    expect(stdout).toContain('status   running (interrupted)\n');
    expect(stdout).toContain(`→ heddle runs resume ${runId.slice(-8)}\n`);
  });

  it('is shown as interrupted even while other runs of its folder run or continue', async () => {
    const cwd = dataFolder();
    const other = await startAndKillRun(cwd, STUCK, '… Stuck');
    const runId = await startAndKillRun(cwd, STUCK, '… Stuck');
    const readInterrupted = async () => {
      const { stdout } = await heddle(['runs', 'list', '--json'], { cwd });
      const { data } = JSON.parse(stdout) as { data: { runId: string; interrupted: boolean }[] };
      return Object.fromEntries(data.map((run) => [run.runId, run.interrupted]));
    };
    const resumed = startHeddle(['runs', 'resume', runId], { cwd });
    await resumed.waitForText('Stuck');
    expect(await readInterrupted()).toEqual({ [other]: true, [runId]: false });
    resumed.child.kill('SIGKILL');
    await resumed.ended;
    const third = startHeddle(['run', 'flow.json'], { cwd });
    await third.waitForText('… Stuck');
    const { [other]: otherState, [runId]: state, ...newStates } = await readInterrupted();
    expect([otherState, state, ...Object.values(newStates)]).toEqual([true, true, false]);
  });

  it('is continued by heddle runs resume, which leaves other runs interrupted', async () => {
    const cwd = dataFolder();
    const other = await startAndKillRun(cwd, SHORT_WAIT, '‖ Nap');
    const runId = await startAndKillRun(cwd, SHORT_WAIT, '‖ Nap');
    const { exit, stdout } = await heddle(['runs', 'resume', runId], { cwd });
    expect({ exit, output: JSON.parse(stdout) as unknown }).toMatchObject({
      exit: 0,
      output: { result: 'woken' },
    });
    const { stdout: otherRun } = await heddle(['runs', 'show', other, '--json'], { cwd });
    expect(JSON.parse(otherRun)).toMatchObject({ data: { status: 'paused', interrupted: true } });
  });
});
