import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PROCESS_ENV } from '../process-env.ts';
import type {
  Endpoint,
  OpenedContender,
  Storage,
  ReadName,
  Reply,
  ServerRequest,
  ContenderName,
} from './contender.ts';

const SERVER_PROGRAM = fileURLToPath(new URL('serve.ts', import.meta.url));
const TIMEOUT_MS = 120_000;

/** A contender that listens in a separate process. */
export class Server {
  readonly contender: ContenderName;
  readonly #child = fork(SERVER_PROGRAM, [], {
    execArgv: ['--no-warnings', '--expose-gc'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: PROCESS_ENV,
  });
  #openedContender: OpenedContender | undefined;

  private constructor(contender: ContenderName) {
    this.contender = contender;
  }

  static async start(contender: ContenderName, storage: Storage): Promise<Server> {
    const server = new Server(contender);
    try {
      server.#openedContender = (await server.#request({ open: contender, storage })) as OpenedContender;
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get origin(): string {
    return this.#openedContender?.origin ?? '';
  }

  /** Throws if this contender does not have the endpoint. */
  endpoint(name: 'run' | 'wait' | 'webhook' | ReadName): Endpoint {
    const { run, wait, webhook, reads } = this.#openedContender ?? {};
    const endpoint = { run, wait, webhook, ...reads }[name];
    if (!endpoint) throw new Error(`${this.contender} has no endpoint "${name}".`);
    return endpoint;
  }

  /** Returns the number of steps, the CPU time in milliseconds, or the live memory in KB. */
  async readMetric(metric: 'steps' | 'cpu' | 'memory'): Promise<number> {
    return ((await this.#request(metric)) as { number: number }).number;
  }

  async waitForSteps(steps: number): Promise<void> {
    await this.#request({ steps });
  }

  async openGate(): Promise<void> {
    await this.#request('gate');
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const timeout = setTimeout(() => child.kill('SIGKILL'), 8000);
    this.#request('close').catch(() => child.kill('SIGKILL'));
    await exited;
    clearTimeout(timeout);
  }

  #request(request: ServerRequest): Promise<Exclude<Reply, { errorMessage: string }>> {
    const child = this.#child;
    const { promise, resolve, reject } = Promise.withResolvers<Exclude<Reply, { errorMessage: string }>>();
    const onMessage = (message: unknown): void => {
      const reply = message as Reply;
      if (typeof reply === 'object' && 'errorMessage' in reply) reject(new Error(reply.errorMessage));
      else resolve(reply);
    };
    const onExit = (code: number | null): void =>
      reject(new Error(`The process ended with exit code ${code}.`));
    const timeout = setTimeout(
      () => reject(new Error(`The process did not respond within ${TIMEOUT_MS / 1000} s.`)),
      TIMEOUT_MS,
    );
    child.on('message', onMessage);
    child.on('exit', onExit);
    child.send(request);
    return promise.finally(() => {
      clearTimeout(timeout);
      child.off('message', onMessage);
      child.off('exit', onExit);
    });
  }
}
