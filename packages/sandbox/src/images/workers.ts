import type { Confinement } from '../isolation/confine.ts';
import { Isolation } from '../isolation/isolation.ts';
import type { IsolationOptions } from '../isolation/options.ts';
import { launch, type Program } from '../pool/launch.ts';
import { ImageError } from './error.ts';

/** How long a process may take for its order, and who is told what. */
export interface Watch {
  readonly deadlineMs: number;
  /** Ends the process. */
  readonly signal: AbortSignal;
  /** Told of every message of the process. */
  readonly heard: (message: unknown) => void;
  /** Told that the process is ended because it took too long. */
  readonly late: () => void;
}

/** Starts processes of the sandbox in which images are worked on, each with the limits of a run and for one order. */
export class Workers {
  readonly #isolation: Isolation;

  constructor(isolation: IsolationOptions | undefined) {
    this.#isolation = new Isolation(isolation, process.execPath);
  }

  /** How processes are confined, once that is known. Throws ImageError provider_error where none may run. */
  async ready(): Promise<Confinement> {
    await this.#isolation.settle();
    const { refusal, confinement } = this.#isolation;
    if (refusal !== null) throw new ImageError('provider_error', refusal);
    return confinement;
  }

  /** Resolves when the process that was given the order has ended; rejects with the signal's reason, or when none could be started. */
  run(program: Program, order: object, { deadlineMs, signal, heard, late }: Watch): Promise<void> {
    const { confinement } = this.#isolation;
    const child = launch({ execPath: process.execPath, confinement: () => confinement }, program);
    return new Promise((resolve, reject) => {
      const kill = (): void => void child.kill('SIGKILL');
      const timer = setTimeout(() => {
        late();
        kill();
      }, deadlineMs);
      signal.addEventListener('abort', kill, { once: true });
      child.ref();
      child.channel?.ref();
      child.on('message', heard);
      child.on('error', reject);
      child.on('close', () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', kill);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      });
      child.send(order, (error) => {
        // The end of the process is reported on its own.
        if (error !== null) kill();
      });
    });
  }
}
