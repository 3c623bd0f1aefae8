import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddle } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';

describe('a run whose process died', () => {
  const SHORT_WAIT_WORKFLOW: WorkflowSettings = {
    blocks: {
      s: start(),
      nap: { type: 'wait', name: 'Nap', fields: { timeValue: '2', timeUnit: 'seconds' } },
      end: code('return "woken"', { name: 'End' }),
    },
    edges: ['s > nap', 'nap > end'],
  };
  const STUCK_WORKFLOW: WorkflowSettings = {
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
    await command.result;
    return (await readLatestRun(cwd)).runId;
  }

  async function readLatestRun(
    cwd: string,
  ): Promise<{ runId: string; status: string; interrupted: boolean }> {
    const { stdout } = await runHeddle(['runs', 'list', '--json'], { cwd });
    return (JSON.parse(stdout) as { data: [{ runId: string; status: string; interrupted: boolean }] })
      .data[0];
  }

  it('is shown as interrupted, with the command that resumes it, until it continues', async () => {
    const cwd = createDataFolder();
    const runId = await startAndKillRun(cwd, STUCK_WORKFLOW, '… Stuck is still running');
    expect(await readLatestRun(cwd)).toMatchObject({ status: 'running', interrupted: true });
    expect((await runHeddle(['runs', 'list'], { cwd })).stdout).toContain('running (interrupted)');
    const { stdout } = await runHeddle(['runs', 'show', runId], { cwd });
    expect(stdout).toContain('status   running (interrupted)\n');
    expect(stdout).toContain(`→ heddle runs resume ${runId.slice(-8)}\n`);
  });

  it('is shown as interrupted even while other runs of its folder run or continue', async () => {
    const cwd = createDataFolder();
    const otherRunId = await startAndKillRun(cwd, STUCK_WORKFLOW, '… Stuck');
    const runId = await startAndKillRun(cwd, STUCK_WORKFLOW, '… Stuck');
    const readInterruptedByRunId = async () => {
      const { stdout } = await runHeddle(['runs', 'list', '--json'], { cwd });
      const { data } = JSON.parse(stdout) as { data: { runId: string; interrupted: boolean }[] };
      return Object.fromEntries(data.map((run) => [run.runId, run.interrupted]));
    };
    const resumeCommand = startHeddle(['runs', 'resume', runId], { cwd });
    await resumeCommand.waitForText('Stuck');
    expect(await readInterruptedByRunId()).toEqual({ [otherRunId]: true, [runId]: false });
    resumeCommand.child.kill('SIGKILL');
    await resumeCommand.result;
    const runCommand = startHeddle(['run', 'flow.json'], { cwd });
    await runCommand.waitForText('… Stuck');
    const { [otherRunId]: otherState, [runId]: state, ...newStates } = await readInterruptedByRunId();
    expect([otherState, state, ...Object.values(newStates)]).toEqual([true, true, false]);
  });

  it('is continued by heddle runs resume, which leaves other runs interrupted', async () => {
    const cwd = createDataFolder();
    const otherRunId = await startAndKillRun(cwd, SHORT_WAIT_WORKFLOW, '‖ Nap');
    const runId = await startAndKillRun(cwd, SHORT_WAIT_WORKFLOW, '‖ Nap');
    const { exitCode, stdout } = await runHeddle(['runs', 'resume', runId], { cwd });
    expect({ exitCode, output: JSON.parse(stdout) as unknown }).toMatchObject({
      exitCode: 0,
      output: { result: 'woken' },
    });
    const { stdout: otherRunJson } = await runHeddle(['runs', 'show', otherRunId, '--json'], { cwd });
    expect(JSON.parse(otherRunJson)).toMatchObject({ data: { status: 'paused', interrupted: true } });
  });
});
