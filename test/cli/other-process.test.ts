import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, normalizeOutput, startHeddle } from '../support/heddle.ts';
import type { RunningCommand } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';

const QUESTION = {
  type: 'human_in_the_loop',
  name: 'Approve',
  fields: { inputFormat: [{ id: 'a', name: 'ok', type: 'boolean' }] },
};
const LONG_WAIT = { type: 'wait', name: 'Nap', fields: { timeValue: '1', timeUnit: 'hours' } };
const WAITING_WORKFLOW: WorkflowSettings = {
  blocks: { s: start(), first: code('return 1', { name: 'First' }), nap: LONG_WAIT },
  edges: ['s > first', 'first > nap'],
};

/** Starts a run in another process. Resolves when the process has printed `output`. */
async function startRun(
  workflow: WorkflowSettings,
  output: string,
): Promise<{ cwd: string; runId: string; otherCommand: RunningCommand }> {
  const cwd = createDataFolder();
  writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile(workflow)));
  const otherCommand = startHeddle(['run', 'flow.json'], { cwd });
  await otherCommand.waitForText(output);
  const listResult = await runHeddle(['runs', 'list', '--json'], { cwd });
  const { data } = JSON.parse(listResult.stdout) as { data: { runId: string }[] };
  return { cwd, runId: data[0]!.runId, otherCommand };
}

describe('while another process owns the data folder', () => {
  it('a second run is rejected with the owning process id, and the first continues', async () => {
    const { cwd, otherCommand } = await startRun(WAITING_WORKFLOW, '‖ Nap');
    const { exitCode, stdout, stderr } = await runHeddle(['run', 'flow.json'], { cwd });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(`process ${otherCommand.child.pid}`);
    expect(stderr).toContain('use another data folder');
    const jsonResult = await runHeddle(['run', 'flow.json', '--json'], { cwd });
    expect(JSON.parse(jsonResult.stderr)).toMatchObject({ error: { code: 'DATA_LOCKED' } });
    expect(otherCommand.child.exitCode).toBeNull();
  });

  it('its runs can be listed, shown, tailed and cancelled', async () => {
    const { cwd, runId, otherCommand } = await startRun(WAITING_WORKFLOW, '‖ Nap');
    expect((await runHeddle(['runs', 'list'], { cwd })).stdout).toContain('paused: until ');
    const showResult = await runHeddle(['runs', 'show', runId], { cwd });
    expect(showResult.stdout).toMatch(/✓ {2}First/);
    const tailCommand = startHeddle(['runs', 'tail', runId], { cwd });
    await tailCommand.waitForText('‖ Nap');
    const cancelResult = await runHeddle(['runs', 'cancel', runId, '--reason', 'enough'], { cwd });
    expect(cancelResult.exitCode).toBe(0);
    const [firstResult, secondResult] = await Promise.all([otherCommand.result, tailCommand.result]);
    for (const { exitCode, stdout, stderr } of [firstResult, secondResult]) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
      expect(normalizeOutput(stderr)).toContain('○ Cancelled after TIME');
    }
  });

  it('an answer reaches the run in the other process, and its progress is shown here', async () => {
    const workflow: WorkflowSettings = {
      // Code that never ends keeps the other process busy.
      blocks: { s: start(), ask: QUESTION, spin: code('for (;;);'), end: { type: 'variables', name: 'End' } },
      edges: ['s > ask', 's > spin', 'ask > end'],
    };
    const { cwd, runId, otherCommand } = await startRun(workflow, '‖ Approve');
    const resumeCommand = startHeddle(['runs', 'resume', runId, '--input', '{"ok": true}', '--env', 'A=1'], {
      cwd,
    });
    await Promise.all([resumeCommand.waitForText('✓ End'), otherCommand.waitForText('✓ End')]);
    expect((await runHeddle(['runs', 'cancel', runId], { cwd })).exitCode).toBe(0);
    const { exitCode, stderr } = await resumeCommand.result;
    expect(stderr).toContain('another process owns this data folder and has its own options');
    expect(exitCode).toBe(4);
    expect((await otherCommand.result).exitCode).toBe(4);
  });

  it('an invalid answer is rejected', async () => {
    const workflow: WorkflowSettings = {
      blocks: { s: start(), ask: QUESTION, spin: code('for (;;);') },
      edges: ['s > ask', 's > spin'],
    };
    const { cwd, runId } = await startRun(workflow, '‖ Approve');
    const { exitCode, stderr } = await runHeddle(['runs', 'resume', runId, '--input', '{"ok": 7}'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('"ok" must be true or false');
  });
});

describe('after another process has died', () => {
  it('its run waits until it is resumed, and no finished block runs again', async () => {
    const workflow: WorkflowSettings = {
      blocks: {
        s: start(),
        once: code('return Math.random()', { name: 'Once' }),
        nap: { ...LONG_WAIT, fields: { timeValue: '1', timeUnit: 'seconds' } },
        end: code('return <once.result>', { name: 'End' }),
      },
      edges: ['s > once', 'once > nap', 'nap > end'],
    };
    const { cwd, runId, otherCommand } = await startRun(workflow, '‖ Nap');
    otherCommand.child.kill('SIGKILL');
    await otherCommand.result;
    const showResult = await runHeddle(['runs', 'show', runId, '--json'], { cwd });
    const { data } = JSON.parse(showResult.stdout) as {
      data: { logs: { blockName: string; output: { result: number } }[] };
    };
    const onceOutput = data.logs.find(({ blockName }) => blockName === 'Once')!.output.result;
    // Another run in the folder does not continue it.
    writeFileSync(join(cwd, 'other.json'), JSON.stringify(workflowFile({ blocks: { s: start() } })));
    expect((await runHeddle(['run', 'other.json'], { cwd })).exitCode).toBe(0);
    expect((await runHeddle(['runs', 'show', runId], { cwd })).stdout).not.toContain('completed');
    const { exitCode, stdout, stderr } = await runHeddle(['runs', 'resume', runId], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ result: onceOutput });
    expect(stderr).not.toContain('Once');
    expect(exitCode).toBe(0);
  });

  it('tailing its run reports that no process executes it, and how to continue', async () => {
    const { cwd, runId, otherCommand } = await startRun(WAITING_WORKFLOW, '‖ Nap');
    otherCommand.child.kill('SIGKILL');
    await otherCommand.result;
    const { exitCode, stderr } = await runHeddle(['runs', 'tail', runId], { cwd });
    expect(exitCode).toBe(3);
    expect(normalizeOutput(stderr)).toContain('→ heddle runs resume RUN');
  });
});
