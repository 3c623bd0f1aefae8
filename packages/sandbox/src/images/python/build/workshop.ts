import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { IsolationOptions } from '../../../isolation/options.ts';
import { pythonProgram } from '../../../programs.ts';
import { readReport } from '../../flat-report.ts';
import { Workers } from '../../workers.ts';
import type { PythonOrder, PythonReport } from './order.ts';

/** The program that works on images; `src` and `dist` are siblings, so the path holds from both. */
export const WORKSHOP_FILE = fileURLToPath(new URL('../../../../dist/python-image.cjs', import.meta.url));

/** Above every limit inside: what does not keep to those is killed. */
const DEADLINE_MS = 720_000;

/** Works on images of Python in processes of the sandbox, each with the limits of a run. */
export class Workshop {
  readonly #workers: Workers;

  constructor(isolation: IsolationOptions | undefined) {
    this.#workers = new Workers(isolation);
  }

  /** What came of an order about the packages in `files`; a process that died was short of memory. Throws ImageError provider_error where none may run. */
  async work(order: PythonOrder, files: readonly string[], signal: AbortSignal): Promise<PythonReport> {
    await this.#workers.ready();
    signal.throwIfAborted();
    const program = { ...pythonProgram(null), file: realpathSync(WORKSHOP_FILE), files };
    let ended: PythonReport | undefined;
    await this.#workers.run(program, order, {
      deadlineMs: DEADLINE_MS,
      signal,
      heard: (message) => (ended ??= (readReport(message) as PythonReport | null) ?? undefined),
      late: () => (ended ??= { t: 'limit', limit: 'time' }),
    });
    return ended ?? { t: 'limit', limit: 'memory' };
  }
}
