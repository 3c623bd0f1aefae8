// Runs the command line in a child process, on another Node than the one that was started.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('./child.js', import.meta.url));

/** Signals that end a process or are handled by Node; those of job control go to the whole group in any case. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
/** On Windows a console sends Ctrl-C to every process, and `kill` ends a process at once. */
const CONSOLE_SIGNALS = ['SIGINT', 'SIGBREAK'];

/** Runs the command line on `node`: signals are passed on, and this process ends as the child does. */
export function runOn(node, fail) {
  // "--": else Node reads files that are meant for the command (--env-file). The fourth stream closes when this process ends.
  const args = [...process.execArgv, '--', child, ...process.argv.slice(2)];
  const started = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'pipe'] });
  const onWindows = process.platform === 'win32';
  const signals = onWindows ? CONSOLE_SIGNALS : SIGNALS;
  // From a terminal the child gets SIGINT twice, which counts as one press.
  for (const signal of signals) process.on(signal, () => !onWindows && started.kill(signal));
  started.on('error', (error) => fail(`cannot start ${node}: ${error.message}`));
  started.on('exit', (code, signal) => {
    process.exitCode = code ?? 1;
    if (signal === null) return;
    for (const each of signals) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  });
}
