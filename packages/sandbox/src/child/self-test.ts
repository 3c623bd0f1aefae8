import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';

/** The error code with which an attempt was refused, or null where it succeeded. */
function attempt(deed: () => unknown): string | null {
  try {
    deed();
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).name;
  }
}

/** A refused connection has got as far as a network. */
const REACHED = new Set(['ECONNREFUSED', 'ETIMEDOUT']);

async function connection(): Promise<string | null> {
  const code = await new Promise<string | null>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: 9 });
    socket.once('connect', () => resolve(null));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.name));
  });
  return code !== null && REACHED.has(code) ? null : code;
}

const FILE = `/tmp/heddle-self-test-${process.pid}`;

/** Does what a process of the sandbox must not be able to do, and tells how far it came. `args`: process id of the host, MiB too many. */
async function main([host, tooManyMiB]: string[]): Promise<void> {
  const findings = {
    connect: await connection(),
    spawn: attempt(() => {
      const { error } = spawnSync(process.execPath, ['--version'], { stdio: 'ignore' });
      if (error !== undefined) throw error;
    }),
    read: attempt(() => readFileSync('/etc/passwd')),
    write: attempt(() => writeFileSync(FILE, 'written')),
    signal: attempt(() => process.kill(Number(host), 0)),
    memory: attempt(() => Buffer.allocUnsafeSlow(Number(tooManyMiB) * 2 ** 20)),
  };
  attempt(() => rmSync(FILE, { force: true }));
  process.send?.({ findings, user: process.getuid?.() }, () => process.exit(0));
}

void main(process.argv.slice(2));
