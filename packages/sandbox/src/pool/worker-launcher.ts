import type { LoadedImage } from '../image.ts';
import type { StartupPackages } from '../protocol.ts';
import { launch, type LaunchOptions, type Program } from './launch.ts';
import { PoolWorker, type WorkerKey, type PoolWorkerEvents } from './pool-worker.ts';

export interface WorkerLauncherOptions extends LaunchOptions {
  readonly programOf: (image: LoadedImage | undefined) => Program;
  readonly memoryMiB: number;
  readonly startTimeoutMs: number;
  /** Returns the packages of an image that its processes get at their start; undefined if they read them from files. */
  readonly startupPackagesOf?: (image: LoadedImage) => StartupPackages | undefined;
}

/** Consecutive failed starts of a pool key after which its waiting jobs fail. */
const MAX_FAILED_STARTS = 3;

/** Starts the worker processes of a pool. */
export class WorkerLauncher {
  readonly #options: WorkerLauncherOptions;
  /** The snapshot that the first process without an image made. Later processes start from it. */
  #snapshot: Uint8Array | undefined;

  /** Number of consecutive failed starts by pool key: one image may prevent starts while others work. */
  readonly #failedStartCounts = new Map<string, number>();

  constructor(options: WorkerLauncherOptions) {
    this.#options = options;
  }

  /**
   * Starts a process.
   * @throws SandboxError NOT_BUILT, SLOTS_EXHAUSTED.
   */
  start(workerKey: WorkerKey, events: PoolWorkerEvents): PoolWorker {
    const { memoryMiB, startTimeoutMs, programOf, startupPackagesOf } = this.#options;
    const packages = workerKey.image === undefined ? undefined : startupPackagesOf?.(workerKey.image);
    const child = launch(this.#options, programOf(workerKey.image));
    const bootRequest = {
      t: 'boot',
      snapshot: this.#snapshot ?? null,
      memoryMiB,
      ...(packages && { image: packages }),
    } as const;
    const worker = new PoolWorker(workerKey, child, bootRequest, events);
    worker.limitStartTime(startTimeoutMs);
    return worker;
  }

  /** Records that a process is ready. Later processes get the snapshot of the first one that has no image. */
  recordReady({ poolKey, image, snapshot }: PoolWorker): void {
    this.#failedStartCounts.delete(poolKey);
    // Processes with an image have run package code, which must not influence the snapshot that other tenants start
    // from.
    if (image === undefined) this.#snapshot ??= snapshot;
  }

  /** Records a process that ended before it was ready. Returns whether its pool key has failed too often. */
  recordFailedStart({ poolKey }: Pick<WorkerKey, 'poolKey'>): boolean {
    const failureCount = (this.#failedStartCounts.get(poolKey) ?? 0) + 1;
    this.#failedStartCounts.delete(poolKey);
    if (failureCount >= MAX_FAILED_STARTS) return true;
    this.#failedStartCounts.set(poolKey, failureCount);
    return false;
  }
}
