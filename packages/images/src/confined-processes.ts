import type { IsolationOptions } from '@heddle/sandbox';
import { type Confinement, Isolation, launch, type Program } from '@heddle/sandbox/build';
import { ImageError } from './error.ts';

export interface ProcessOptions {
  /** Time after which the process is killed. */
  readonly timeoutMs: number;
  /** Aborting kills the process. */
  readonly signal: AbortSignal;
  readonly onMessage: (message: unknown) => void;
  /** Called before the process is killed because of its time limit. */
  readonly onTimeout: () => void;
}

/** Starts sandbox processes for builds, one per request, with the limits of a run. */
export class ConfinedProcesses {
  readonly #isolation: Isolation;

  constructor(isolation: IsolationOptions | undefined) {
    this.#isolation = new Isolation(isolation, process.execPath);
  }

  /**
   * Returns how processes are confined; probes the host on the first call. Throws ImageError provider_error if none may
   * run.
   */
  async confinement(): Promise<Confinement> {
    await this.#isolation.waitForProbe();
    const { refusal, confinement } = this.#isolation;
    if (refusal !== undefined) throw new ImageError('provider_error', refusal);
    return confinement;
  }

  /**
   * Starts the program, sends it the request and resolves when the process has ended. Call `confinement` first. Rejects
   * with the signal's reason, or if the process cannot be started.
   */
  run(
    program: Program,
    request: object,
    { timeoutMs, signal, onMessage, onTimeout }: ProcessOptions,
  ): Promise<void> {
    const { confinement } = this.#isolation;
    const child = launch({ execPath: process.execPath, getConfinement: () => confinement }, program);
    return new Promise((resolve, reject) => {
      // A process that could not be started has no id, and Node.js would signal an arbitrary one.
      const kill = (): void => void (child.pid !== undefined && child.kill('SIGKILL'));
      const timer = setTimeout(() => {
        onTimeout();
        kill();
      }, timeoutMs);
      if (signal.aborted) kill();
      else signal.addEventListener('abort', kill, { once: true });
      child.ref();
      child.channel?.ref();
      child.on('message', onMessage);
      child.on('error', reject);
      child.on('close', () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', kill);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      });
      child.send(request, (error) => {
        // The end of the process is reported by `close`.
        if (error !== null) kill();
      });
    });
  }
}
