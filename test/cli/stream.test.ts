import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle } from '../support/heddle.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

it('heddle run --stream prints the text of an agent as it arrives, and with --json every event and the result', async () => {
  const server = await startModelServer(() => ({ chunks: ['Ra', 'in', '.'] }));
  onTestFinished(() => server.close());
  const cwd = createDataFolder();
  const messages = [{ role: 'user', content: 'Weather?' }];
  const definition = workflow([block('A', 'agent', { model: 'local/scripted', messages })], ['Start -> A']);
  writeFileSync(join(cwd, 'agent.json'), JSON.stringify(definition));
  const args = ['run', 'agent.json', '--stream', '--service', `local=${server.services.local}`];
  const textResult = await runHeddle(args, { cwd });
  expect(textResult).toMatchObject({ exitCode: 0, stdout: 'Rain.\n' });
  expect(textResult.stderr).toContain('Completed');
  const jsonResult = await runHeddle([...args, '--json'], { cwd });
  expect(jsonResult.exitCode).toBe(0);
  const lines = jsonResult.stdout
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
  const server = await startModelServer(() => ({ chunks: ['Re', 'funded', '.'] }));
  onTestFinished(() => server.close());
  const cwd = createDataFolder();
  const agentBlock = (id: string) =>
    block(id, 'agent', { model: 'local/scripted', messages: [{ role: 'user', content: 'Refund it.' }] });
  const definition = workflow(
    [agentBlock('A'), block('H', 'human_in_the_loop'), agentBlock('B')],
    ['Start -> A -> H -> B'],
  );
  writeFileSync(join(cwd, 'agent.json'), JSON.stringify(definition));
  const serviceArgs = ['--service', `local=${server.services.local}`];
  const pausedResult = await runHeddle(['run', 'agent.json', '--stream', '--json', ...serviceArgs], { cwd });
  expect(pausedResult.exitCode).toBe(3);
  const { data } = JSON.parse(pausedResult.stdout.trimEnd().split('\n').at(-1) ?? '') as {
    data: { runId: string };
  };
  const resumeResult = await runHeddle(
    ['runs', 'resume', data.runId, '--input', '{}', '--stream', ...serviceArgs],
    {
      cwd,
    },
  );
  expect(resumeResult).toMatchObject({ exitCode: 0, stdout: 'Refunded.\n' });
  expect(resumeResult.stderr).toContain('B:');
  expect(resumeResult.stderr).not.toContain('A:');
  const tailResult = await runHeddle(['runs', 'tail', data.runId, '--stream'], { cwd });
  expect(tailResult).toMatchObject({ exitCode: 0, stdout: 'Refunded.\nRefunded.\n' });
});
