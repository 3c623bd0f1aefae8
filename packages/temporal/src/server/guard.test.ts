import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGuarded } from './guard.ts';

/** A server that says when it is up and when it is asked to end. */
const POLITE = `trap 'echo asked; exit 0' TERM; `;
/** A server that does not end when it is asked to. */
const STUBBORN = `trap '' TERM; `;
const RUN = 'echo up; while :; do sleep 0.05; done';
const PATIENCE = { timeout: 20_000 };

/** A file for what a server prints. */
function log(): { fd: number; read(): string } {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-guard-'));
  const file = join(folder, 'log');
  const fd = openSync(file, 'a');
  onTestFinished(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  return { fd, read: () => readFileSync(file, 'utf8') };
}

describe('stopping a server', () => {
  it('asks it to end, and returns when it has', async () => {
    const { fd, read } = log();
    const server = await startGuarded({ command: ['/bin/sh', '-c', POLITE + RUN], log: fd });
    await expect.poll(read, PATIENCE).toBe('up\n');
    await server.stop();
    expect(read()).toBe('up\nasked\n');
    expect(await server.exited).toBe('exit code 0');
  });

  it('kills it, and what it started, when it does not end within the grace', async () => {
    const { fd, read } = log();
    const server = await startGuarded({
      command: ['/bin/sh', '-c', STUBBORN + RUN],
      log: fd,
      graceMs: 100,
    });
    await expect.poll(read, PATIENCE).toBe('up\n');
    await server.stop();
    expect(await server.exited).toBe('SIGKILL');
  });

  it('can be asked for twice, and of a server that has ended by itself', async () => {
    const server = await startGuarded({ command: ['/bin/sh', '-c', 'exit 3'], log: log().fd });
    expect(await server.exited).toBe('exit code 3');
    await Promise.all([server.stop(), server.stop()]);
  });
});

describe('a server', () => {
  it('gets the environment that is given, and arguments as they are', async () => {
    const { fd, read } = log();
    const command = ['/bin/sh', '-c', 'echo "$A/$1/$2"', '-', `a 'b" $c`, ''] as const;
    const server = await startGuarded({ command, log: fd, env: { A: 'given' } });
    await server.exited;
    expect(read()).toBe(`given/a 'b" $c/\n`);
  });

  it('that does not exist ends with what the shell says of it', async () => {
    const { fd, read } = log();
    const server = await startGuarded({ command: ['/nowhere/server'], log: fd });
    expect(await server.exited).toBe('exit code 127');
    expect(read()).toMatch(/\/nowhere\/server: not found|No such file/);
  });

  it.each([
    ['is asked to end', POLITE, 'up\nasked\n'],
    ['is killed if that does not help', STUBBORN, 'up\n'],
  ])('whose starter is killed with -9 %s', async (_, server, output) => {
    const guard = JSON.stringify(new URL('guard.ts', import.meta.url).href);
    const options = JSON.stringify({ command: ['/bin/sh', '-c', server + RUN], log: 1, graceMs: 100 });
    const code = `import { startGuarded } from ${guard}; await startGuarded(${options});`;
    const starter = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    // The server has the same pipe: it ends when both of them have ended.
    const printed = text(starter.stdout);
    await once(starter.stdout, 'readable');
    starter.kill('SIGKILL');
    expect(await printed).toBe(output);
  });
});
