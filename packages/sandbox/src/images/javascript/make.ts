import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ImageError } from '../error.ts';
import { Isolation } from '../../isolation/isolation.ts';
import type { IsolationOptions } from '../../isolation/options.ts';
import { launch } from '../../pool/launch.ts';
import { javascriptProgram } from '../../programs.ts';
import type { ImageOrder, ImageReport } from './order.ts';

/** The program that loads bundles; `src` and `dist` are siblings, so the path holds from both. */
export const MAKER_FILE = fileURLToPath(new URL('../../../dist/image.cjs', import.meta.url));

/** Time for all that is done with one bundle, of which loading is a part, in milliseconds. */
const DEADLINE_MS = 60_000;

/** How a process that makes an image ended. */
type Ended = Exclude<ImageReport, { t: 'snapshot' }> | { readonly t: 'died'; readonly inSnapshot: boolean };

/** Loads bundles in processes of the sandbox, with the limits of a run. */
export class Maker {
  readonly #isolation: Isolation;

  constructor(isolation: IsolationOptions | undefined) {
    this.#isolation = new Isolation(isolation, process.execPath);
  }

  /** What came of loading the bundle. Throws ImageError provider_error where no process may run. */
  async make(order: ImageOrder, signal: AbortSignal): Promise<Ended> {
    await this.#isolation.settle();
    const { refusal } = this.#isolation;
    if (refusal !== null) throw new ImageError('provider_error', refusal);
    const first = await this.#once(order, signal);
    // Snapshots of some code take V8 down; the same code may well run without one.
    return first.t === 'died' && first.inSnapshot ? this.#once({ ...order, snapshot: false }, signal) : first;
  }

  #once(order: ImageOrder, signal: AbortSignal): Promise<Ended> {
    const program = { ...javascriptProgram(false), file: realpathSync(MAKER_FILE) };
    const child = launch(
      { execPath: process.execPath, confinement: () => this.#isolation.confinement },
      program,
    );
    return new Promise((resolve, reject) => {
      let inSnapshot = false;
      let ended: Ended | null = null;
      const kill = (): void => void child.kill('SIGKILL');
      const timer = setTimeout(() => {
        ended = { t: 'limit', limit: 'time' };
        kill();
      }, DEADLINE_MS);
      signal.addEventListener('abort', kill, { once: true });
      child.ref();
      child.channel?.ref();
      child.on('message', (message) => {
        const report = message as ImageReport;
        if (report.t === 'snapshot') inSnapshot = true;
        else ended ??= report;
      });
      child.on('error', reject);
      child.on('close', () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', kill);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve(ended ?? { t: 'died', inSnapshot });
      });
      child.send(order, (error) => {
        // The end of the process is reported on its own.
        if (error !== null) kill();
      });
    });
  }
}
