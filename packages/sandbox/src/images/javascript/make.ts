import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { IsolationOptions } from '../../isolation/options.ts';
import { javascriptProgram } from '../../programs.ts';
import { readReport } from '../flat-report.ts';
import { Workers } from '../workers.ts';
import type { ImageOrder, ImageReport } from './order.ts';

/** The program that loads bundles; `src` and `dist` are siblings, so the path holds from both. */
export const MAKER_FILE = fileURLToPath(new URL('../../../dist/image.cjs', import.meta.url));

/** Time for all that is done with one bundle, of which loading is a part, in milliseconds. */
const DEADLINE_MS = 60_000;

/** How a process that makes an image ended. */
type Ended = Exclude<ImageReport, { t: 'snapshot' }> | { readonly t: 'died'; readonly inSnapshot: boolean };

/** Loads bundles in processes of the sandbox, with the limits of a run. */
export class Maker {
  readonly #workers: Workers;

  constructor(isolation: IsolationOptions | undefined) {
    this.#workers = new Workers(isolation);
  }

  /** What came of loading the bundle. Throws ImageError provider_error where no process may run. */
  async make(order: ImageOrder, signal: AbortSignal): Promise<Ended> {
    await this.#workers.ready();
    const first = await this.#once(order, signal);
    // Snapshots of some code take V8 down; the same code may well run without one.
    return first.t === 'died' && first.inSnapshot ? this.#once({ ...order, snapshot: false }, signal) : first;
  }

  async #once(order: ImageOrder, signal: AbortSignal): Promise<Ended> {
    const program = { ...javascriptProgram(false), file: realpathSync(MAKER_FILE) };
    let inSnapshot = false;
    let ended: Ended | undefined;
    await this.#workers.run(program, order, {
      deadlineMs: DEADLINE_MS,
      signal,
      heard: (message) => {
        const report = readReport(message) as ImageReport | null;
        if (report?.t === 'snapshot') inSnapshot = true;
        else ended ??= report ?? { t: 'died', inSnapshot };
      },
      late: () => (ended = { t: 'limit', limit: 'time' }),
    });
    return ended ?? { t: 'died', inSnapshot };
  }
}
