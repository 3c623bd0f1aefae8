import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle, normalizeOutput, startHeddle } from '../support/heddle.ts';
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
): Promise<{ cwd: string; runId: string; other: RunningCommand }> {
  const cwd = dataFolder();
  writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile(workflow)));
  const other = startHeddle(['run', 'flow.json'], { cwd });
  await other.waitForText(output);
  const listed = await heddle(['runs', 'list', '--json'], { cwd });
  const { data } = JSON.parse(listed.stdout) as { data: { runId: string }[] };
  return { cwd, runId: data[0]!.runId, other };
}

describe('while another process owns the data folder', () => {
  it('a second run is rejected with the owning process id, and the first continues', async () => {
    const { cwd, other } = await startRun(WAITING_WORKFLOW, '‖ Nap');
    const { exit, stdout, stderr } = await heddle(['run', 'flow.json'], { cwd });
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toContain(`process ${other.child.pid}`);
    expect(stderr).toContain('use another data folder');
    const json = await heddle(['run', 'flow.json', '--json'], { cwd });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'DATA_LOCKED' } });
    expect(other.child.exitCode).toBeNull();
  });

  it('its runs can be listed, shown, tailed and cancelled', async () => {
    const { cwd, runId, other } = await startRun(WAITING_WORKFLOW, '‖ Nap');
    expect((await heddle(['runs', 'list'], { cwd })).stdout).toContain('paused: until ');
    const shown = await heddle(['runs', 'show', runId], { cwd });
    expect(shown.stdout).toMatch(/✓ {2}First/);
    const tail = startHeddle(['runs', 'tail', runId], { cwd });
    await tail.waitForText('‖ Nap');
    const cancelled = await heddle(['runs', 'cancel', runId, '--reason', 'enough'], { cwd });
    expect(cancelled.exit).toBe(0);
    const [first, second] = await Promise.all([other.ended, tail.ended]);
    for (const { exit, stdout, stderr } of [first, second]) {
      expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' });
      expect(normalizeOutput(stderr)).toContain('○ Cancelled after TIME');
    }
  });

  it('an answer reaches the run in the other process, and its progress is shown here', async () => {
    const workflow: WorkflowSettings = {
      // Code that never ends keeps the other process busy.
      blocks: { s: start(), ask: QUESTION, spin: code('for (;;);'), end: { type: 'variables', name: 'End' } },
      edges: ['s > ask', 's > spin', 'ask > end'],
    };
    const { cwd, runId, other } = await startRun(workflow, '‖ Approve');
    const resume = startHeddle(['runs', 'resume', runId, '--input', '{"ok": true}', '--env', 'A=1'], { cwd });
    await Promise.all([resume.waitForText('✓ End'), other.waitForText('✓ End')]);
    expect((await heddle(['runs', 'cancel', runId], { cwd })).exit).toBe(0);
    const { exit, stderr } = await resume.ended;
    expect(stderr).toContain('another process owns this data folder and has its own options');
    expect(exit).toBe(4);
    expect((await other.ended).exit).toBe(4);
  });

  it('an invalid answer is rejected', async () => {
    const workflow: WorkflowSettings = {
      blocks: { s: start(), ask: QUESTION, spin: code('for (;;);') },
      edges: ['s > ask', 's > spin'],
    };
    const { cwd, runId } = await startRun(workflow, '‖ Approve');
    const { exit, stderr } = await heddle(['runs', 'resume', runId, '--input', '{"ok": 7}'], { cwd });
    expect(exit).toBe(2);
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
    const { cwd, runId, other } = await startRun(workflow, '‖ Nap');
    other.child.kill('SIGKILL');
    await other.ended;
    const shown = await heddle(['runs', 'show', runId, '--json'], { cwd });
    const { data } = JSON.parse(shown.stdout) as {
      data: { logs: { blockName: string; output: { result: number } }[] };
    };
    const once = data.logs.find(({ blockName }) => blockName === 'Once')!.output.result;
    // Another run in the folder does not continue it.
    writeFileSync(join(cwd, 'other.json'), JSON.stringify(workflowFile({ blocks: { s: start() } })));
    expect((await heddle(['run', 'other.json'], { cwd })).exit).toBe(0);
    expect((await heddle(['runs', 'show', runId], { cwd })).stdout).not.toContain('completed');
    const { exit, stdout, stderr } = await heddle(['runs', 'resume', runId], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ result: once });
    expect(stderr).not.toContain('Once');
    expect(exit).toBe(0);
  });

  it('tailing its run reports that no process executes it, and how to continue', async () => {
    const { cwd, runId, other } = await startRun(WAITING_WORKFLOW, '‖ Nap');
    other.child.kill('SIGKILL');
    await other.ended;
    const { exit, stderr } = await heddle(['runs', 'tail', runId], { cwd });
    expect(exit).toBe(3);
    expect(normalizeOutput(stderr)).toContain('→ heddle runs resume RUN');
  });
});
