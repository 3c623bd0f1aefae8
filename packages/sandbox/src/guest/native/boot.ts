import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';
import { env } from 'node:process';
import { JAIL_PATHS, PROXY_PORT, RESULT_FD } from '../../native/layout.ts';
import type { NativeJob } from './job.ts';

/**
 * The first program of a process tree: forwards requests to the proxy outside the sandbox, and starts the programs of
 * the job.
 */

const job = JSON.parse(readFileSync(JAIL_PATHS.job, 'utf8')) as NativeJob;

/** Returns the command line of the job and its additional environment. */
function prepareCommand(): { command: readonly string[]; environment: Readonly<Record<string, string>> } {
  switch (job.language) {
    case 'javascript':
      return { command: [process.execPath, `${JAIL_PATHS.boot}/javascript.cjs`], environment: {} };
    case 'python':
      return {
        command: ['/usr/bin/python3', '-X', 'utf8', `${JAIL_PATHS.boot}/heddle_native.py`],
        environment: {},
      };
    case 'shell':
      writeFileSync(JAIL_PATHS.script, job.code);
      return { command: ['/bin/bash', JAIL_PATHS.script], environment: job.environment };
    case 'command':
      return { command: job.command, environment: {} };
  }
}

/**
 * Forwards connections at the proxy address inside the sandbox to the proxy outside, if there is one. Calls
 * `onReady` once it can accept connections.
 */
function startForwarding(onReady: () => void): void {
  if (!existsSync(JAIL_PATHS.proxy)) return onReady();
  const server = createServer((client) => {
    const proxySocket = connect(JAIL_PATHS.proxy);
    client.on('error', () => proxySocket.destroy());
    proxySocket.on('error', () => client.destroy());
    client.pipe(proxySocket).pipe(client);
  });
  server.listen(PROXY_PORT, '127.0.0.1', onReady);
}

startForwarding(() => {
  const { command, environment } = prepareCommand();
  const [file = '', ...args] = command;
  const hasResult = job.language === 'javascript' || job.language === 'python';
  const child = spawn(file, args, {
    env: { ...env, ...environment },
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
