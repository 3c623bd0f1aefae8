import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { startModelServer } from '../support/model-server.ts';

const PROGRAM = fileURLToPath(new URL('agent-process.ts', import.meta.url));

/** Runs the process until it ends, or kills it with SIGKILL after it has printed `stop`. Returns its last line. */
async function play(folder: string, url: string, stop = ''): Promise<string> {
  const args = [join(folder, 'data'), url, join(folder, 'effects'), stop];
  const child = spawn(process.execPath, ['--conditions=@heddle/source', PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = new Promise((resolve) => child.on('close', resolve));
  let last = '';
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    if (line === stop) child.kill('SIGKILL');
  }
  await closed;
  return last;
}

it('an agent that is killed in its fourth call of a tool repeats that call, and no other call of a tool or model', async () => {
  const server = await startModelServer(({ body }) => {
    const done = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'tool').length;
    return done === 4 ? { text: 'Done.' } : { tools: [{ name: 'count', args: { n: done + 1 } }] };
  });
  onTestFinished(() => server.close());
  const folder = dataFolder();
  expect(await play(folder, server.services.local, '4')).toBe('4');
  expect(server.requests).toHaveLength(4);
  const output = JSON.parse(await play(folder, server.services.local)) as object;
  expect(output).toMatchObject({ content: 'Done.', tokens: { total: 75 }, toolCalls: { count: 4 } });
  expect(server.requests).toHaveLength(5);
  expect(readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n')).toEqual(['1', '2', '3', '4', '4']);
});
