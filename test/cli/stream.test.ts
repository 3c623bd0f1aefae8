import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle } from '../support/heddle.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

it('heddle run --stream prints the text of an agent as it comes, and with --json every event and the result', async () => {
  const server = await startModelServer(() => ({ pieces: ['Ra', 'in', '.'] }));
  onTestFinished(() => server.close());
  const cwd = dataFolder();
  const messages = [{ role: 'user', content: 'Weather?' }];
  const drawn = workflow([block('A', 'agent', { model: 'local/scripted', messages })], ['Start -> A']);
  writeFileSync(join(cwd, 'agent.json'), JSON.stringify(drawn));
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
