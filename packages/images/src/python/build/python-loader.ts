import type { IsolationOptions } from '@heddle/sandbox';
import { pythonImageProgram, readReport, type PythonRequest, type PythonReport } from '@heddle/sandbox/build';
import { ConfinedProcesses } from '../../confined-processes.ts';

/** Longer than every limit inside the process; a process that exceeds it is killed. */
const DEADLINE_MS = 720_000;

/** Compiles and loads Python packages in sandbox processes, one process for each order, with the limits of a run. */
export class PythonLoader {
  readonly #processes: ConfinedProcesses;

  constructor(isolation: IsolationOptions | undefined) {
    this.#processes = new ConfinedProcesses(isolation);
  }

  /**
   * Returns the report for an order; `files` are the archives that the process gets open. A process that died without a report
   * counts as out of memory.
   * @throws ImageError provider_error where no process may run.
   */
  async run(order: PythonRequest, files: readonly string[], signal: AbortSignal): Promise<PythonReport> {
    await this.#processes.confinement();
    signal.throwIfAborted();
    const program = pythonImageProgram(files);
    let ended: PythonReport | undefined;
    await this.#processes.run(program, order, {
      deadlineMs: DEADLINE_MS,
      signal,
      onMessage: (message) => (ended ??= (readReport(message) as PythonReport | null) ?? undefined),
      onTimeout: () => (ended ??= { t: 'limit', limit: 'time' }),
    });
    return ended ?? { t: 'limit', limit: 'memory' };
  }
}
