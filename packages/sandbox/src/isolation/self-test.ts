import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { endProcess } from '../end-process.ts';
import { confine, type Confinement } from './confine.ts';
import type { Program } from './program.ts';
import { spawnConfined } from './spawn.ts';

/** `src` and `dist` are siblings, so the path is valid from both. */
export const SELF_TEST = fileURLToPath(new URL('../../dist/self-test.cjs', import.meta.url));

const DATA_MIB = 256;
const TOO_MANY_MIB = 512;
const TIMEOUT_MS = 20_000;

type Deed = 'connect' | 'spawn' | 'read' | 'write' | 'signal' | 'memory';

const DEEDS: Readonly<Record<Deed, string>> = {
  connect: 'could open a connection',
  spawn: 'could start another process',
  read: 'could read /etc/passwd',
  write: 'could write to /tmp',
  signal: 'could send signals to its host',
  memory: `could take ${TOO_MANY_MIB} MiB of memory although it may have ${DATA_MIB}`,
};

/** The operations that a process must be refused. `standard` does not block the network. */
function forbidden({ level, uids }: Confinement): Deed[] {
  if (level === 'strict') return Object.keys(DEEDS) as Deed[];
  return ['spawn', 'read', 'write', 'memory', ...(uids === undefined ? [] : (['signal'] as const))];
}

/** The self-test's report, or why there is none. */
interface Told {
  readonly findings?: Readonly<Record<string, string | null>>;
  readonly said: string;
}

function listen(confinement: Confinement, execPath: string): Promise<Told> {
  const program: Program = {
    file: realpathSync(SELF_TEST),
    args: [String(process.pid), String(TOO_MANY_MIB)],
    readable: [],
    flags: ['--jitless'],
    dataMiB: DATA_MIB,
  };
  // Without Node.js's permission model, which would refuse before the operating system does.
  const invocation = confine(confinement, execPath, program, confinement.level !== 'strict');
  const child = spawnConfined(invocation);
  return new Promise((resolve) => {
    let said = '';
    let findings: Told['findings'];
    const timer = setTimeout(() => {
      said += `no answer within ${TIMEOUT_MS} ms`;
      endProcess(child);
    }, TIMEOUT_MS);
    const end = (why: string): void => {
      clearTimeout(timer);
      resolve({ said: said.trim() || why, ...(findings !== undefined && { findings }) });
    };
    child.stderr?.on('data', (data: Buffer) => (said = (said + data.toString()).slice(0, 1_000)));
    child.on('message', (message: { findings: Told['findings'] }) => (findings = message.findings));
    child.on('error', (error) => end(error.message));
    child.on('close', (code, signal) => end(`it ended with ${signal ?? `exit code ${String(code)}`}`));
  });
}

/** Like `listen`, but returns errors of starting the process. */
async function attempt(confinement: Confinement, execPath: string): Promise<Told> {
  try {
    return await listen(confinement, execPath);
  } catch (error) {
    return { said: (error as Error).message };
  }
}

/**
 * Runs a process at a level that attempts what it must not be able to do. Returns what the process could do, or why it
 * did not start; undefined if every attempt was refused.
 */
export async function selfTest(confinement: Confinement, execPath: string): Promise<string | undefined> {
  if (!existsSync(SELF_TEST)) return 'the self-test was not built; run `npm run build` in @heddle/sandbox';
  if (!existsSync(execPath)) return `a process did not start: there is no Node.js at ${execPath}`;
  const { findings, said } = await attempt(confinement, execPath);
  if (findings === undefined) return `a process did not start: ${said}`;
  const done = forbidden(confinement).filter(
    (deed) => findings[deed] === null || findings[deed] === undefined,
  );
  return done.length === 0 ? undefined : `a process ${done.map((deed) => DEEDS[deed]).join(', ')}`;
}
