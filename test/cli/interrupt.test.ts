import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, normalizeOutput, startHeddle } from '../support/heddle.ts';
import type { RunningCommand } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import type { BlockSettings } from '../support/workflow-file.ts';

const LONG_WAIT: BlockSettings = {
  type: 'wait',
  name: 'Work',
  fields: { timeValue: '1', timeUnit: 'hours' },
};
const ENDLESS_CODE = code('console.log("spinning");\nfor (;;);', { name: 'Work' });

function startRun(work: BlockSettings, ...args: string[]): { cwd: string; command: RunningCommand } {
  const cwd = createDataFolder();
  writeFileSync(
    join(cwd, 'flow.json'),
    JSON.stringify(workflowFile({ blocks: { s: start(), work }, edges: ['s > work'] })),
  );
  return { cwd, command: startHeddle(['run', 'flow.json', ...args], { cwd }) };
}

async function readLatestRun(cwd: string): Promise<{ runId: string; status: string }> {
  const { stdout } = await runHeddle(['runs', 'list', '--json'], { cwd });
  return (JSON.parse(stdout) as { data: [{ runId: string; status: string }] }).data[0];
}

describe('Ctrl-C', () => {
  it.each([
    ['a wait', LONG_WAIT, '‖ Work'],
    ['code that never ends', ENDLESS_CODE, '… Work is still running'],
  ])('cancels %s cleanly: exit 4, and the run is recorded as cancelled', async (_, work, output) => {
    const { cwd, command } = startRun(work);
    await command.waitForText(output);
    command.child.kill('SIGINT');
    const { exitCode, stdout, stderr } = await command.result;
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
    expect(normalizeOutput(stderr)).toMatch(
      /○ Cancelling … \(Ctrl-C again to kill\)\n(.*\n)?○ Cancelled after TIME, 2 blocks {2}run RUN\n$/,
    );
    expect((await readLatestRun(cwd)).status).toBe('cancelled');
  });

  it('that arrives twice, from the terminal and from a package runner, counts once', async () => {
    const { command } = startRun(LONG_WAIT);
    await command.waitForText('‖ Work');
    command.child.kill('SIGINT');
    command.child.kill('SIGINT');
    expect((await command.result).exitCode).toBe(4);
  });

  it('with --json still prints the cancelled run', async () => {
    const { cwd, command } = startRun(LONG_WAIT, '--json');
    // This mode prints no progress, so the test waits until the run is in the list.
    await expect.poll(async () => (await readLatestRun(cwd))?.status, { timeout: 20_000 }).toBe('paused');
    command.child.kill('SIGINT');
    const { exitCode, stdout, stderr } = await command.result;
    expect({ exitCode, stderr }).toEqual({ exitCode: 4, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ data: { status: 'cancelled' } });
  });

  it('takes effect in the next process if this process is killed', async () => {
    const { cwd, command } = startRun(ENDLESS_CODE);
    await command.waitForText('… Work is still running');
    command.child.kill('SIGINT');
    await command.waitForText('Cancelling');
    command.child.kill('SIGKILL');
    await command.result;
    const { runId } = await readLatestRun(cwd);
    const { exitCode } = await runHeddle(['runs', 'resume', runId], { cwd });
    // 2: the killed process had recorded the cancellation, so nothing can be resumed. 4: this process cancels the run.
    expect([2, 4]).toContain(exitCode);
    expect((await readLatestRun(cwd)).status).toBe('cancelled');
  });
});
