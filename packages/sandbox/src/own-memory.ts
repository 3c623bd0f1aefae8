import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { laneOf } from './pool/job.ts';
import type { Slot } from './pool/slot.ts';
import { Starter, type StarterOptions } from './pool/starter.ts';
import { PYTHON_STAMP, pythonMemoryProgram } from './programs.ts';

/** How long after the first process of Python it is made: a program that runs one job and ends does without. */
const DELAY_MS = 10_000;

const NAME = /^python-[0-9a-f]{32}\.snap$/;

const LANE = { tenant: '', lane: laneOf('', null), image: null };

/** How long the process may take that makes it, which nobody waits for. */
const MAKE_MS = 300_000;

interface OwnMemoryOptions extends Omit<StarterOptions, 'program' | 'bootOf' | 'startTimeoutMs'> {
  /** Where it is kept, for all processes of this host and all that come later. */
  readonly folder: string;
  readonly delayMs?: number;
}

/**
 * The memory that a host's interpreters begin with, made by itself: the seed of string hashes in it is known to no other
 * host, which that of the memory in the package is. There is none until it was made, once, in the background.
 */
export class OwnMemory {
  readonly #options: OwnMemoryOptions;
  readonly #starter: Starter;
  #file: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #making: { readonly ended: Promise<void>; readonly stop: () => void } | undefined;

  constructor(options: OwnMemoryOptions) {
    this.#options = options;
    this.#starter = new Starter({ ...options, startTimeoutMs: MAKE_MS, program: pythonMemoryProgram });
  }

  /** Its file; undefined as long as there is none, which this call changes in a while. */
  get path(): string | undefined {
    // Without it the package is not built, which the process that is started next is told.
    if (this.#file === undefined && !existsSync(PYTHON_STAMP)) return undefined;
    this.#file ??= join(
      this.#options.folder,
      `python-${readFileSync(PYTHON_STAMP, 'latin1').slice(0, 32)}.snap`,
    );
    if (existsSync(this.#file)) return this.#file;
    const { delayMs = DELAY_MS } = this.#options;
    if (!this.#closed) this.#timer ??= setTimeout(() => void this.#makeLater(), delayMs).unref();
    return undefined;
  }

  /** Makes it, in a process that is confined like every other. Rejects where that cannot be done; interpreters then begin as before. */
  async make(): Promise<void> {
    let memory: Uint8Array | null = null;
    const ended = Promise.withResolvers<void>();
    const fail = (why: string): void => ended.reject(new Error(`The memory of Python was not made: ${why}.`));
    const slot = this.#starter.start(LANE, {
      ready: (ready: Slot) => {
        memory = ready.snapshot;
        ready.kill('finished');
      },
      exit: (_slot, why) => (memory === null ? fail(why) : ended.resolve()),
      malformed: (bad: Slot) => bad.kill('malformed'),
      // It gets no job.
      done: () => undefined,
      call: () => undefined,
      overdue: () => undefined,
    });
    this.#making = { ended: ended.promise, stop: () => slot.kill('closed') };
    await ended.promise;
    if (memory !== null && this.#file !== undefined) await this.#keep(memory, this.#file);
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#making?.stop();
    await this.#making?.ended.catch(() => undefined);
  }

  async #makeLater(): Promise<void> {
    try {
      await this.make();
    } catch (error) {
      // Nobody waits for it, and no job depends on it.
      if (!this.#closed) process.emitWarning((error as Error).message, 'HeddleWarning');
    }
  }

  async #keep(memory: Uint8Array, file: string): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true });
    // Processes of several containers may share the folder, and the number of a process.
    const made = `${file}.${randomUUID()}`;
    await writeFile(made, memory, { mode: 0o600, flush: true });
    await rename(made, file);
    // Of builds of the package that are gone; a host that still has one makes it again.
    const old = (await readdir(folder)).filter((name) => NAME.test(name) && join(folder, name) !== file);
    await Promise.all(old.map((name) => rm(join(folder, name), { force: true })));
  }
}
