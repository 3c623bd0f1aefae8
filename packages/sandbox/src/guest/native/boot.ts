import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';
import { env } from 'node:process';
import { INSIDE, PROXY_PORT, RESULT_FD } from '../../native/layout.ts';
import type { NativeJob } from './job.ts';

/** The first program of a tree: passes requests on to the proxy outside, and starts what the job asks for. */

const job = JSON.parse(readFileSync(INSIDE.job, 'utf8')) as NativeJob;

/** The command of a job, and what its environment has besides. */
function commandOf(): { line: readonly string[]; more: Readonly<Record<string, string>> } {
  switch (job.language) {
    case 'javascript':
      return { line: [process.execPath, `${INSIDE.boot}/javascript.cjs`], more: {} };
    case 'python':
      return { line: ['/usr/bin/python3', '-X', 'utf8', `${INSIDE.boot}/heddle_native.py`], more: {} };
    case 'shell':
      writeFileSync(INSIDE.script, job.code);
      return { line: ['/bin/bash', INSIDE.script], more: job.environment };
    case 'command':
      return { line: job.command, more: {} };
  }
}

/** Listens where clients look for a proxy, then goes on. */
function forward(next: () => void): void {
  if (!existsSync(INSIDE.proxy)) return next();
  const server = createServer((client) => {
    const outside = connect(INSIDE.proxy);
    client.on('error', () => outside.destroy());
    outside.on('error', () => client.destroy());
    client.pipe(outside).pipe(client);
  });
  server.listen(PROXY_PORT, '127.0.0.1', next);
}

forward(() => {
  const { line, more } = commandOf();
  const [file = '', ...args] = line;
  const hasResult = job.language === 'javascript' || job.language === 'python';
  const child = spawn(file, args, {
    env: { ...env, ...more },
    stdio: ['ignore', 'inherit', 'inherit', ...(hasResult ? [RESULT_FD] : [])],
  });
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(127);
  });
  child.on('exit', (code, signal) =>
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
  );
});
