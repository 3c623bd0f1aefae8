// Runs the command line in a child process with another version of Node.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const childFile = fileURLToPath(new URL('./child.js', import.meta.url));

/** Signals that end a process or are handled by Node; those of job control go to the whole group in any case. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
/** On Windows a console sends Ctrl-C to every process, and `kill` ends a process immediately. */
const CONSOLE_SIGNALS = ['SIGINT', 'SIGBREAK'];

/** Runs the command line on `node`: forwards signals to it, and exits with its exit code or signal. */
export function runOn(node, fail) {
  // "--": otherwise Node itself would read files of the command's options (--env-file). The fourth stream closes when
  // this process ends.
  const args = [...process.execArgv, '--', childFile, ...process.argv.slice(2)];
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'pipe'] });
  const isWindows = process.platform === 'win32';
  const signals = isWindows ? CONSOLE_SIGNALS : SIGNALS;
  // From a terminal the child gets SIGINT twice, which counts as one press.
  for (const signal of signals) process.on(signal, () => !isWindows && child.kill(signal));
  child.on('error', (error) => fail(`cannot start ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1;
    if (signal === null) return;
    for (const each of signals) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  });
}
