import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSupervisedProcess } from './process-supervisor.ts';

/** Shell code that prints a line and exits at SIGTERM. */
const EXIT_ON_TERM = `trap 'echo stopping; exit 0' TERM; `;
/** Shell code that ignores SIGTERM. */
const IGNORE_TERM = `trap '' TERM; `;
/** Shell code that prints a line, and then runs until a signal ends it. */
const RUN_UNTIL_SIGNAL = 'echo up; while :; do sleep 0.05; done';
const POLL_OPTIONS = { timeout: 20_000 };

/** Creates a file for a server's output. */
function createLog(): { fd: number; read(): string } {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-supervisor-'));
  const file = join(folder, 'log');
  const fd = openSync(file, 'a');
  onTestFinished(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  return { fd, read: () => readFileSync(file, 'utf8') };
}

describe('stopping a server', () => {
  it('sends SIGTERM and resolves when it has ended', async () => {
    const { fd, read } = createLog();
    const server = await startSupervisedProcess({
      command: ['/bin/sh', '-c', EXIT_ON_TERM + RUN_UNTIL_SIGNAL],
      logFd: fd,
    });
    await expect.poll(read, POLL_OPTIONS).toBe('up\n');
    await server.stop();
    expect(read()).toBe('up\nstopping\n');
    expect(await server.exited).toBe('exit code 0');
  });

  it('kills it and its children after the grace period', async () => {
    const { fd, read } = createLog();
    const server = await startSupervisedProcess({
      command: ['/bin/sh', '-c', IGNORE_TERM + RUN_UNTIL_SIGNAL],
      logFd: fd,
      graceMs: 100,
    });
    await expect.poll(read, POLL_OPTIONS).toBe('up\n');
    await server.stop();
    expect(await server.exited).toBe('SIGKILL');
  });

  it('can be repeated, even for a server that has ended by itself', async () => {
    const server = await startSupervisedProcess({
      command: ['/bin/sh', '-c', 'exit 3'],
      logFd: createLog().fd,
    });
    expect(await server.exited).toBe('exit code 3');
    await Promise.all([server.stop(), server.stop()]);
  });
});

describe('a server', () => {
  it('gets the environment of the options and unchanged arguments', async () => {
    const { fd, read } = createLog();
    const command = ['/bin/sh', '-c', 'echo "$A/$1/$2"', '-', `a 'b" $c`, ''] as const;
    const server = await startSupervisedProcess({ command, logFd: fd, env: { A: 'value' } });
    await server.exited;
    expect(read()).toBe(`value/a 'b" $c/\n`);
  });

  it('that does not exist ends with the error of the shell', async () => {
    const { fd, read } = createLog();
    const server = await startSupervisedProcess({ command: ['/nowhere/server'], logFd: fd });
    expect(await server.exited).toBe('exit code 127');
    expect(read()).toMatch(/\/nowhere\/server: not found|No such file/);
  });

  it.each([
    ['gets SIGTERM', EXIT_ON_TERM, 'up\nstopping\n'],
    ['is killed if it ignores SIGTERM', IGNORE_TERM, 'up\n'],
  ])('whose starting process is killed with SIGKILL %s', async (_, shellCode, output) => {
    const module = JSON.stringify(new URL('process-supervisor.ts', import.meta.url).href);
    const options = JSON.stringify({
      command: ['/bin/sh', '-c', shellCode + RUN_UNTIL_SIGNAL],
      logFd: 1,
      graceMs: 100,
    });
    const code = `import { startSupervisedProcess } from ${module}; await startSupervisedProcess(${options});`;
    const starter = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    // The server shares the pipe: it closes when both processes have ended.
    const serverOutput = text(starter.stdout);
    await once(starter.stdout, 'readable');
    starter.kill('SIGKILL');
    expect(await serverOutput).toBe(output);
  });
});
