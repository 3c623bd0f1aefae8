import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PROCESS_ENV } from './process-env.ts';
import type { Row } from './rows.ts';
import type { Reply, Request } from './workload.ts';

const MAIN_PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url));

/** Default time limit of a contender for its start and for one sample. */
const TIMEOUT_MS = 60_000;

/** One contender of one row. It has its own process, so that no engine's heap or compiled code affects another. */
export class ContenderProcess {
  readonly name: string;
  readonly values: number[] = [];
  /** Why the contender has no values. */
  missingReason: string | undefined;
  readonly #child: ChildProcess | undefined;
  readonly #limitMs: number;

  private constructor(
    name: string,
    { child, missingReason, limitMs }: { child?: ChildProcess; missingReason?: string; limitMs: number },
  ) {
    this.name = name;
    this.#child = child;
    this.missingReason = missingReason;
    this.#limitMs = limitMs;
  }

  /** Starts the process of `contender`. `name` is the name in the table. */
  static async start(
    name: string,
    { workload, size, limitMs = TIMEOUT_MS }: Pick<Row, 'workload' | 'size' | 'limitMs'>,
    contender = name,
  ): Promise<ContenderProcess> {
    const child = fork(MAIN_PROGRAM, ['serve', contender, workload, String(size)], {
      execArgv: ['--no-warnings', '--no-node-snapshot', '--expose-gc'],
      // Output of engines is ignored. Failures are reported over the process channel.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: PROCESS_ENV,
    });
    const reply = await waitForReply(child, limitMs);
    if ('ready' in reply) return new ContenderProcess(name, { child, limitMs });
    child.kill('SIGKILL');
    return new ContenderProcess(name, { missingReason: errorMessageIn(reply), limitMs });
  }

  /** Takes one sample and converts it with `toUnit`. A contender that fails is not measured further. */
  async sample(sampleMs: number, toUnit: (measuredValue: number) => number): Promise<void> {
    if (!this.#child || this.missingReason !== undefined) return;
    this.#child.send({ sampleMs } satisfies Request);
    const reply = await waitForReply(this.#child, this.#limitMs);
    if ('value' in reply) this.values.push(toUnit(reply.value));
    else this.missingReason = errorMessageIn(reply);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
    child.send('close' satisfies Request, () => undefined);
    await exited;
    clearTimeout(timer);
  }
}

function errorMessageIn(reply: Reply): string {
  return 'errorMessage' in reply
    ? reply.errorMessage
    : `The process sent an unexpected reply: ${JSON.stringify(reply)}.`;
}

function waitForReply(child: ChildProcess, limitMs: number): Promise<Reply> {
  return new Promise((resolve) => {
    const settle = (reply: Reply): void => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(reply);
    };
    const onMessage = (reply: unknown): void => settle(reply as Reply);
    const onExit = (code: number | null): void =>
      settle({ errorMessage: `The process ended with exit code ${code}.` });
    const onTimeout = (): void =>
      settle({ errorMessage: `The process did not respond within ${limitMs / 1000} s.` });
    const timer = setTimeout(onTimeout, limitMs);
    child.on('message', onMessage);
    child.on('exit', onExit);
  });
}
