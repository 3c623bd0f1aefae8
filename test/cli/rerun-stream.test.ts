import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { main } from '../../packages/cli/src/main.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { createRecordingIo } from '../support/io.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

it('heddle runs rerun --stream prints only the text of the blocks that run again, and with --json every event', async () => {
  const server = await startModelServer(({ number }) => ({ chunks: [`Answer ${number}`, ' is', ' here.'] }));
  onTestFinished(() => server.close());
  const dataFolder = createDataFolder();
  const agentBlock = (id: string) =>
    block(id, 'agent', { model: 'local/scripted', messages: [{ role: 'user', content: 'Refund it.' }] });
  const file = join(createDataFolder(), 'agents.json');
  writeFileSync(file, JSON.stringify(workflow([agentBlock('A'), agentBlock('B')], ['Start -> A -> B'])));
  const runHeddle = async (...args: string[]) => {
    const io = createRecordingIo();
    const exitCode = await main(
      [...args, '--data', dataFolder, '--service', `local=${server.services.local}`],
      io,
    );
    return { exitCode, stdout: io.stdout.text, stderr: io.stderr.text };
  };
  const runResult = await runHeddle('run', file, '--json');
  expect(runResult).toMatchObject({ exitCode: 0 });
  const { data: run } = JSON.parse(runResult.stdout) as { data: { runId: string } };
  const textResult = await runHeddle('runs', 'rerun', run.runId, '--from', 'B', '--stream');
  expect(textResult).toMatchObject({ exitCode: 0, stdout: 'Answer 3 is here.\n' });
  expect(textResult.stderr).toContain('B:');
  expect(textResult.stderr).not.toContain('A:');
  const jsonResult = await runHeddle('runs', 'rerun', run.runId, '--from', 'B', '--stream', '--json');
  expect(jsonResult.exitCode).toBe(0);
  const lines = jsonResult.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; emission?: { text: string }; data?: object });
  expect(lines.flatMap(({ emission }) => (emission ? [emission.text] : [])).join('')).toBe(
    'Answer 4 is here.',
  );
  expect(lines.at(-1)).toMatchObject({
    type: 'result',
    data: { status: 'completed', output: { content: 'Answer 4 is here.' } },
  });
  expect(server.requests).toHaveLength(4);
});
