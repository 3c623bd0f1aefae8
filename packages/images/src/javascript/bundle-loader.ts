import type { IsolationOptions } from '@heddle/sandbox';
import {
  javascriptImageProgram,
  readReport,
  type ImageRequest,
  type ImageReport,
} from '@heddle/sandbox/build';
import { ConfinedProcesses } from '../confined-processes.ts';

/** Time limit of one process for everything it does with a bundle, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** The result of a loading process. */
type LoadResult =
  | Exclude<ImageReport, { t: 'snapshot' }>
  | { readonly t: 'died'; readonly wasMakingSnapshot: boolean };

/** Loads bundles of npm packages in sandbox processes, with the limits of a run. */
export class BundleLoader {
  readonly #processes: ConfinedProcesses;

  constructor(isolation: IsolationOptions | undefined) {
    this.#processes = new ConfinedProcesses(isolation);
  }

  /** Loads the bundle. Throws ImageError provider_error if no process may run. */
  async load(request: ImageRequest, signal: AbortSignal): Promise<LoadResult> {
    await this.#processes.confinement();
    const firstResult = await this.#loadOnce(request, signal);
    // V8 crashes while it makes snapshots of some code; the same code may work without a snapshot.
    return firstResult.t === 'died' && firstResult.wasMakingSnapshot
      ? this.#loadOnce({ ...request, snapshot: false }, signal)
      : firstResult;
  }

  async #loadOnce(request: ImageRequest, signal: AbortSignal): Promise<LoadResult> {
    const program = javascriptImageProgram();
    let isMakingSnapshot = false;
    let result: LoadResult | undefined;
    await this.#processes.run(program, request, {
      timeoutMs: TIMEOUT_MS,
      signal,
      onMessage: (message) => {
        const report = readReport(message) as ImageReport | undefined;
        if (report?.t === 'snapshot') isMakingSnapshot = true;
        else result ??= report ?? { t: 'died', wasMakingSnapshot: isMakingSnapshot };
      },
      onTimeout: () => (result = { t: 'limit', limit: 'time' }),
    });
    return result ?? { t: 'died', wasMakingSnapshot: isMakingSnapshot };
  }
}
