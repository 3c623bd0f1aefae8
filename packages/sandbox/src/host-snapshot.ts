import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { poolKeyOf } from './pool/job.ts';
import type { PoolWorker } from './pool/pool-worker.ts';
import { WorkerLauncher, type WorkerLauncherOptions } from './pool/worker-launcher.ts';
import { PYTHON_STAMP, pythonSnapshotProgram } from './programs.ts';

/** Delay after the first Python process, so that a program that runs one job and exits makes no snapshot. */
const DELAY_MS = 10_000;

const SNAPSHOT_NAME = /^python-[0-9a-f]{32}\.snap$/;

const WORKER_KEY = { tenant: '', poolKey: poolKeyOf(''), image: undefined };

/** Time limit for the process that makes the snapshot, in milliseconds. No job waits for it. */
const MAKE_TIMEOUT_MS = 300_000;

interface HostSnapshotOptions extends Omit<WorkerLauncherOptions, 'programOf' | 'bootOf' | 'startTimeoutMs'> {
  /** Folder of the snapshot, shared by all processes of this host. */
  readonly folder: string;
  readonly delayMs?: number;
}

/**
 * A memory snapshot of the Python interpreter that the host makes once, in the background. Its string-hash seed is
 * secret; the seed of the snapshot in the package is public.
 */
export class HostSnapshot {
  readonly #options: HostSnapshotOptions;
  readonly #launcher: WorkerLauncher;
  #file: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #snapshotProcess: { readonly completion: Promise<void>; readonly stop: () => void } | undefined;

  constructor(options: HostSnapshotOptions) {
    this.#options = options;
    this.#launcher = new WorkerLauncher({
      ...options,
      startTimeoutMs: MAKE_TIMEOUT_MS,
      programOf: pythonSnapshotProgram,
    });
  }

  /** Returns the snapshot's file, or undefined if it does not exist yet. The first call schedules its creation. */
  get path(): string | undefined {
    // Without the stamp, a file of the build, the package is not built; starting the next process reports that.
    if (this.#file === undefined && !existsSync(PYTHON_STAMP)) return undefined;
    this.#file ??= join(
      this.#options.folder,
      `python-${readFileSync(PYTHON_STAMP, 'latin1').slice(0, 32)}.snap`,
    );
    if (existsSync(this.#file)) return this.#file;
    const { delayMs = DELAY_MS } = this.#options;
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#makeInBackground(), delayMs).unref();
    return undefined;
  }

  /**
   * Makes the snapshot in a confined process. Rejects on failure; interpreters then keep starting from the snapshot in
   * the package.
   */
  async make(): Promise<void> {
    let memory: Uint8Array | undefined;
    const completion = Promise.withResolvers<void>();
    const fail = (reason: string): void =>
      completion.reject(new Error(`The memory snapshot of Python was not made: ${reason}.`));
    const worker = this.#launcher.start(WORKER_KEY, {
      onReady: (readyWorker: PoolWorker) => {
        memory = readyWorker.snapshot;
        readyWorker.kill('finished');
      },
      onExit: (_worker, reason) => (memory === undefined ? fail(reason) : completion.resolve()),
      onMalformedMessage: (malformedWorker: PoolWorker) => malformedWorker.kill('invalid_message'),
      // This process gets no jobs.
      onDone: () => undefined,
      onCall: () => undefined,
      onUnresponsive: () => undefined,
    });
    this.#snapshotProcess = { completion: completion.promise, stop: () => worker.kill('closed') };
    await completion.promise;
    if (memory !== undefined && this.#file !== undefined) await this.#save(memory, this.#file);
  }

  /** Stops making the snapshot. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#snapshotProcess?.stop();
    await this.#snapshotProcess?.completion.catch(() => undefined);
  }

  async #makeInBackground(): Promise<void> {
    try {
      await this.make();
    } catch (error) {
      // No caller waits for the snapshot, and no job depends on it.
      if (!this.#isClosed) process.emitWarning((error as Error).message, 'HeddleWarning');
    }
  }

  async #save(memory: Uint8Array, file: string): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Processes in several containers may share the folder and have equal process ids.
    const temporaryFile = `${file}.${randomUUID()}`;
    await writeFile(temporaryFile, memory, { mode: 0o600, flush: true });
    await rename(temporaryFile, file);
    // Remove snapshots of other builds of the package; a host that still uses one of them makes its snapshot again.
    const outdatedNames = (await readdir(folder)).filter(
      (name) => SNAPSHOT_NAME.test(name) && join(folder, name) !== file,
    );
    await Promise.all(outdatedNames.map((name) => rm(join(folder, name), { force: true })));
  }
}
