import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';

/** Returns the error code with which an attempt was refused, or null if it succeeded. */
function attempt(action: () => unknown): string | null {
  try {
    action();
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).name;
  }
}

/** Connection errors that show that a network was reached. */
const REACHED_CODES = new Set(['ECONNREFUSED', 'ETIMEDOUT']);

async function attemptConnection(): Promise<string | null> {
  const code = await new Promise<string | null>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: 9 });
    socket.once('connect', () => resolve(null));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.name));
  });
  return code !== null && REACHED_CODES.has(code) ? null : code;
}

const FILE = `/tmp/heddle-self-test-${process.pid}`;

/**
 * Attempts what a sandbox process must not be able to do, and reports the results. Arguments: process id of the host,
 * and a number of MiB that exceeds the memory limit.
 */
async function main([hostPid, tooManyMiB]: string[]): Promise<void> {
  const findings = {
    connect: await attemptConnection(),
    spawn: attempt(() => {
      const { error } = spawnSync(process.execPath, ['--version'], { stdio: 'ignore' });
      if (error !== undefined) throw error;
    }),
    read: attempt(() => readFileSync('/etc/passwd')),
    write: attempt(() => writeFileSync(FILE, 'written')),
    signal: attempt(() => process.kill(Number(hostPid), 0)),
    memory: attempt(() => Buffer.allocUnsafeSlow(Number(tooManyMiB) * 2 ** 20)),
  };
  attempt(() => rmSync(FILE, { force: true }));
  process.send?.({ findings, user: process.getuid?.() }, () => process.exit(0));
}

void main(process.argv.slice(2));
