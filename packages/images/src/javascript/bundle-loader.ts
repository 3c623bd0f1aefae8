import type { IsolationOptions } from '@heddle/sandbox';
import {
  javascriptImageProgram,
  readReport,
  type ImageRequest,
  type ImageReport,
} from '@heddle/sandbox/build';
import { ConfinedProcesses } from '../confined-processes.ts';

/** Time for everything that one process does with a bundle, loading included, in milliseconds. */
const DEADLINE_MS = 60_000;

/** How a loading process ended. */
type Ended = Exclude<ImageReport, { t: 'snapshot' }> | { readonly t: 'died'; readonly inSnapshot: boolean };

/** Loads bundles of npm packages in sandbox processes, with the limits of a run. */
export class BundleLoader {
  readonly #processes: ConfinedProcesses;

  constructor(isolation: IsolationOptions | undefined) {
    this.#processes = new ConfinedProcesses(isolation);
  }

  /** Returns how loading the bundle ended. Throws ImageError provider_error where no process may run. */
  async load(order: ImageRequest, signal: AbortSignal): Promise<Ended> {
    await this.#processes.confinement();
    const first = await this.#once(order, signal);
    // V8 crashes while it makes snapshots of some code; the same code may work without a snapshot.
    return first.t === 'died' && first.inSnapshot ? this.#once({ ...order, snapshot: false }, signal) : first;
  }

  async #once(order: ImageRequest, signal: AbortSignal): Promise<Ended> {
    const program = javascriptImageProgram();
    let inSnapshot = false;
    let ended: Ended | undefined;
    await this.#processes.run(program, order, {
      deadlineMs: DEADLINE_MS,
      signal,
      onMessage: (message) => {
        const report = readReport(message) as ImageReport | null;
        if (report?.t === 'snapshot') inSnapshot = true;
        else ended ??= report ?? { t: 'died', inSnapshot };
      },
      onTimeout: () => (ended = { t: 'limit', limit: 'time' }),
    });
    return ended ?? { t: 'died', inSnapshot };
  }
}
