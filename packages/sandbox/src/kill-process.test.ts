import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { killProcess } from './kill-process.ts';

it('killProcess kills a process', async () => {
  const child = spawn('sleep', ['60']);
  killProcess(child);
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});

it('killProcess sends no signal if the process could not be started', async () => {
  const child = spawn('/nonexistent/program');
  const kill = vi.spyOn(child, 'kill').mockReturnValue(false);
  killProcess(child);
  expect(kill).not.toHaveBeenCalled();
  expect(await once(child, 'error')).toMatchObject([{ code: 'ENOENT' }]);
});
