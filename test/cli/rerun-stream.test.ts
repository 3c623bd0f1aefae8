import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { main } from '../../packages/cli/src/main.ts';
import { dataFolder } from '../support/data-folder.ts';
import { recordedIo } from '../support/io.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

it('heddle runs rerun --stream prints only the text of the blocks that run again, and with --json every event', async () => {
  const server = await startModelServer(({ number }) => ({ pieces: [`Answer ${number}`, ' is', ' here.'] }));
  onTestFinished(() => server.close());
  const data = dataFolder();
  const agent = (id: string) =>
    block(id, 'agent', { model: 'local/scripted', messages: [{ role: 'user', content: 'Refund it.' }] });
  const file = join(dataFolder(), 'agents.json');
  writeFileSync(file, JSON.stringify(workflow([agent('A'), agent('B')], ['Start -> A -> B'])));
  const heddle = async (...args: string[]) => {
    const io = recordedIo();
    const exit = await main([...args, '--data', data, '--service', `local=${server.services.local}`], io);
    return { exit, stdout: io.stdout.text, stderr: io.stderr.text };
  };
  const first = await heddle('run', file, '--json');
  expect(first).toMatchObject({ exit: 0 });
  const { data: run } = JSON.parse(first.stdout) as { data: { runId: string } };
  const text = await heddle('runs', 'rerun', run.runId, '--from', 'B', '--stream');
  expect(text).toMatchObject({ exit: 0, stdout: 'Answer 3 is here.\n' });
  expect(text.stderr).toContain('B:');
  expect(text.stderr).not.toContain('A:');
  const json = await heddle('runs', 'rerun', run.runId, '--from', 'B', '--stream', '--json');
  expect(json.exit).toBe(0);
  const lines = json.stdout
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
