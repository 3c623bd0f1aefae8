import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { killProcess } from '../kill-process.ts';
import { confine, type Confinement } from './confine.ts';
import type { Program } from './program.ts';
import { spawnConfined } from './spawn.ts';

/** `src` and `dist` are siblings, so the path is valid from both. */
export const SELF_TEST_FILE = fileURLToPath(new URL('../../dist/self-test.cjs', import.meta.url));

const DATA_MIB = 256;
const OVER_LIMIT_MIB = 512;
const TIMEOUT_MS = 20_000;

type Operation = 'connect' | 'spawn' | 'read' | 'write' | 'signal' | 'memory';

const SUCCESS_MESSAGES: Readonly<Record<Operation, string>> = {
  connect: 'could open a connection',
  spawn: 'could start another process',
  read: 'could read /etc/passwd',
  write: 'could write to /tmp',
  signal: 'could send signals to its host',
  memory: `could allocate ${OVER_LIMIT_MIB} MiB of memory although its limit is ${DATA_MIB}`,
};

/** The operations that a process must be refused. `standard` does not block the network. */
function forbiddenOperations({ level, uids }: Confinement): Operation[] {
  if (level === 'strict') return Object.keys(SUCCESS_MESSAGES) as Operation[];
  return ['spawn', 'read', 'write', 'memory', ...(uids === undefined ? [] : (['signal'] as const))];
}

/** The findings of a self-test; without findings, `output` says why there are none. */
interface SelfTestResult {
  /** By operation: the error code of its refusal, or null if it succeeded. */
  readonly findings?: Readonly<Record<string, string | null>>;
  readonly output: string;
}

function runSelfTest(confinement: Confinement, execPath: string): Promise<SelfTestResult> {
  const program: Program = {
    file: realpathSync(SELF_TEST_FILE),
    args: [String(process.pid), String(OVER_LIMIT_MIB)],
    readablePaths: [],
    flags: ['--jitless'],
    dataMiB: DATA_MIB,
  };
  // `strict` is tested without Node.js's permission model, which would refuse before the operating system does.
  const invocation = confine(confinement, execPath, program, confinement.level !== 'strict');
  const child = spawnConfined(invocation);
  return new Promise((resolve) => {
    let output = '';
    let findings: SelfTestResult['findings'];
    const timer = setTimeout(() => {
      output += `no response within ${TIMEOUT_MS} ms`;
      killProcess(child);
    }, TIMEOUT_MS);
    const end = (reason: string): void => {
      clearTimeout(timer);
      resolve({ output: output.trim() || reason, ...(findings !== undefined && { findings }) });
    };
    child.stderr?.on('data', (data: Buffer) => (output = (output + data.toString()).slice(0, 1_000)));
    child.on('message', (message: { findings: SelfTestResult['findings'] }) => (findings = message.findings));
    child.on('error', (error) => end(error.message));
    child.on('close', (code, signal) => end(`it ended with ${signal ?? `exit code ${String(code)}`}`));
  });
}

/** Like `runSelfTest`, but if the process cannot be started, returns the error as the output. */
async function trySelfTest(confinement: Confinement, execPath: string): Promise<SelfTestResult> {
  try {
    return await runSelfTest(confinement, execPath);
  } catch (error) {
    return { output: (error as Error).message };
  }
}

/**
 * Starts a confined process that attempts forbidden operations. Returns which of them succeeded, or why the process did
 * not start; undefined if all were refused.
 */
export async function findSelfTestProblem(
  confinement: Confinement,
  execPath: string,
): Promise<string | undefined> {
  if (!existsSync(SELF_TEST_FILE))
    return 'the self-test was not built; run `npm run build` in @heddle/sandbox';
  if (!existsSync(execPath)) return `a process did not start: there is no Node.js at ${execPath}`;
  const { findings, output } = await trySelfTest(confinement, execPath);
  if (findings === undefined) return `a process did not start: ${output}`;
  const succeededOperations = forbiddenOperations(confinement).filter(
    (operation) => findings[operation] === null || findings[operation] === undefined,
  );
  if (succeededOperations.length === 0) return undefined;
  return `a process ${succeededOperations.map((operation) => SUCCESS_MESSAGES[operation]).join(', ')}`;
}
