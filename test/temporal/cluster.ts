import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { createWorker, temporal } from '@heddle/temporal';
import type { HeddleWorker, TemporalOptions, WorkerOptions } from '@heddle/temporal';
import { onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';

/** Engines that only start runs, and workers that run them, on a new task queue with one data folder. */
export interface Cluster {
  readonly queue: string;
  readonly data: string;
  /** Opens an engine without a worker, which is closed after the test. */
  openEngine(options?: EngineOptions, temporalOptions?: Partial<TemporalOptions>): Promise<Engine>;
  /** Starts a worker, which is stopped after the test. */
  startWorker(options?: Partial<WorkerOptions>): Promise<HeddleWorker>;
}

/** Returns a new cluster that uses the server. */
export function createCluster({ address, namespace }: { address: string; namespace: string }): Cluster {
  const queue = `test-${randomUUID()}`;
  const data = createDataFolder();
  return {
    queue,
    data,
    openEngine: async (options = {}, temporalOptions = {}) => {
      const runtime = temporal({
        address,
        namespace,
        taskQueue: queue,
        data,
        worker: false,
        ...temporalOptions,
      } as TemporalOptions);
      const engine = await createEngine({ ...options, runtime });
      onTestFinished(() => engine.close({ graceMs: 0 }));
      return engine;
    },
    startWorker: async (options = {}) => {
      const worker = await createWorker({
        address,
        namespace,
        taskQueue: queue,
        data,
        ...options,
      } as WorkerOptions);
      onTestFinished(() => worker.stop({ drainMs: 0, killMs: 2000 }));
      return worker;
    },
  };
}
