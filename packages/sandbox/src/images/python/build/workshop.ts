import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Isolation } from '../../../isolation/isolation.ts';
import type { IsolationOptions } from '../../../isolation/options.ts';
import { launch, type Program } from '../../../pool/launch.ts';
import { pythonProgram } from '../../../programs.ts';
import { ImageError } from '../../error.ts';
import type { PythonOrder, PythonReport } from './order.ts';

/** The program that works on images; `src` and `dist` are siblings, so the path holds from both. */
export const WORKSHOP_FILE = fileURLToPath(new URL('../../../../dist/python-image.cjs', import.meta.url));

/** Above every limit inside: what does not keep to those is killed. */
const DEADLINE_MS = 720_000;

/** Works on images of Python in processes of the sandbox, each with the limits of a run. */
export class Workshop {
  readonly #isolation: Isolation;

  constructor(isolation: IsolationOptions | undefined) {
    this.#isolation = new Isolation(isolation, process.execPath);
  }

  /** What came of an order about the packages in `files`; a process that died was short of memory. Throws ImageError provider_error where none may run. */
  async work(order: PythonOrder, files: readonly string[], signal: AbortSignal): Promise<PythonReport> {
    await this.#isolation.settle();
    const { refusal } = this.#isolation;
    if (refusal !== null) throw new ImageError('provider_error', refusal);
    signal.throwIfAborted();
    const program = { ...pythonProgram(null), file: realpathSync(WORKSHOP_FILE), files };
    return this.#run(program, order, signal);
  }

  #run(program: Program, order: PythonOrder, signal: AbortSignal): Promise<PythonReport> {
    const confinement = this.#isolation.confinement;
    const child = launch({ execPath: process.execPath, confinement: () => confinement }, program);
    return new Promise((resolve, reject) => {
      let ended: PythonReport | undefined;
      const kill = (): void => void child.kill('SIGKILL');
      const timer = setTimeout(() => {
        ended ??= { t: 'limit', limit: 'time' };
        kill();
      }, DEADLINE_MS);
      signal.addEventListener('abort', kill, { once: true });
      child.ref();
      child.channel?.ref();
      child.on('message', (message) => {
        ended ??= message as PythonReport;
      });
      child.on('error', reject);
      child.on('close', () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', kill);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve(ended ?? { t: 'limit', limit: 'memory' });
      });
      // The end of the process is reported on its own.
      child.send(order, (error) => error && kill());
    });
  }
}
