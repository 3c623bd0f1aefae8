import type { IsolationOptions } from '@heddle/sandbox';
import { pythonImageProgram, readReport, type PythonRequest, type PythonReport } from '@heddle/sandbox/build';
import { ConfinedProcesses } from '../../confined-processes.ts';

/** Higher than every limit inside the process; a process that exceeds it is killed. */
const TIMEOUT_MS = 720_000;

/** Compiles and loads Python packages in sandbox processes, one per request, with the limits of a run. */
export class PythonLoader {
  readonly #processes: ConfinedProcesses;

  constructor(isolation: IsolationOptions | undefined) {
    this.#processes = new ConfinedProcesses(isolation);
  }

  /**
   * Returns the report for a request. `files` are archives that are opened for the process. A process that died without
   * a report counts as out of memory.
   * @throws ImageError provider_error if this host cannot confine processes.
   */
  async run(request: PythonRequest, files: readonly string[], signal: AbortSignal): Promise<PythonReport> {
    await this.#processes.confinement();
    signal.throwIfAborted();
    const program = pythonImageProgram(files);
    let report: PythonReport | undefined;
    await this.#processes.run(program, request, {
      timeoutMs: TIMEOUT_MS,
      signal,
      onMessage: (message) => (report ??= readReport(message) as PythonReport | undefined),
      onTimeout: () => (report ??= { t: 'limit', limit: 'time' }),
    });
    return report ?? { t: 'limit', limit: 'memory' };
  }
}
