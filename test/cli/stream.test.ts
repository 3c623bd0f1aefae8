import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle } from '../support/heddle.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

it('heddle run --stream prints the text of an agent as it arrives, and with --json every event and the result', async () => {
  const server = await startModelServer(() => ({ pieces: ['Ra', 'in', '.'] }));
  onTestFinished(() => server.close());
  const cwd = dataFolder();
  const messages = [{ role: 'user', content: 'Weather?' }];
  const graph = workflow([block('A', 'agent', { model: 'local/scripted', messages })], ['Start -> A']);
  writeFileSync(join(cwd, 'agent.json'), JSON.stringify(graph));
  const args = ['run', 'agent.json', '--stream', '--service', `local=${server.services.local}`];
  const text = await heddle(args, { cwd });
  expect(text).toMatchObject({ exit: 0, stdout: 'Rain.\n' });
  expect(text.stderr).toContain('Completed');
  const json = await heddle([...args, '--json'], { cwd });
  expect(json.exit).toBe(0);
  const lines = json.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; emission?: { text: string }; data?: object });
  const texts = lines.flatMap(({ emission }) => (emission ? [emission.text] : []));
  expect(texts.join('')).toBe('Rain.');
  expect(lines.filter(({ type }) => type === 'block:completed')).toHaveLength(2);
  expect(lines.at(-1)).toMatchObject({
    type: 'result',
    data: { status: 'completed', output: { content: 'Rain.' } },
  });
});

it('heddle runs resume --stream prints only the text after the pause, and runs tail --stream prints all text', async () => {
  const server = await startModelServer(() => ({ pieces: ['Re', 'funded', '.'] }));
  onTestFinished(() => server.close());
  const cwd = dataFolder();
  const agent = (id: string) =>
    block(id, 'agent', { model: 'local/scripted', messages: [{ role: 'user', content: 'Refund it.' }] });
  const graph = workflow([agent('A'), block('H', 'human_in_the_loop'), agent('B')], ['Start -> A -> H -> B']);
  writeFileSync(join(cwd, 'agent.json'), JSON.stringify(graph));
  const service = ['--service', `local=${server.services.local}`];
  const paused = await heddle(['run', 'agent.json', '--stream', '--json', ...service], { cwd });
  expect(paused.exit).toBe(3);
  const { data } = JSON.parse(paused.stdout.trimEnd().split('\n').at(-1) ?? '') as {
    data: { runId: string };
  };
  const resumed = await heddle(['runs', 'resume', data.runId, '--input', '{}', '--stream', ...service], {
    cwd,
  });
  expect(resumed).toMatchObject({ exit: 0, stdout: 'Refunded.\n' });
  expect(resumed.stderr).toContain('B:');
  expect(resumed.stderr).not.toContain('A:');
  const tail = await heddle(['runs', 'tail', data.runId, '--stream'], { cwd });
  expect(tail).toMatchObject({ exit: 0, stdout: 'Refunded.\nRefunded.\n' });
});
