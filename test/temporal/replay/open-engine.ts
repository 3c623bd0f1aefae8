import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { temporal } from '@heddle/temporal';
import type { DeploymentOptions, WorkerTuning } from '@heddle/temporal';
import type { TemporalServer } from './histories.ts';

/** An engine on a server, with its stores. */
export interface OpenedEngine {
  engine: Engine;
  stores: SharedStores;
  close(): Promise<void>;
}

/** Opens an engine on a new task queue, with a worker in this process and stores in the data folder. */
export async function openEngine(
  { address, namespace }: TemporalServer,
  {
    data,
    options = {},
    worker = true,
    ...deployment
  }: { data: string; options?: EngineOptions; worker?: boolean | WorkerTuning } & Omit<
    DeploymentOptions,
    'taskQueue'
  >,
): Promise<OpenedEngine> {
  const queue = `test-${randomUUID()}`;
  const engine = await createEngine({
    ...options,
    runtime: temporal({ address, namespace, taskQueue: queue, data, worker, ...deployment }),
  });
  const stores = openStores({ data, shared: true });
  return {
    engine,
    stores,
    close: async () => {
      await engine.close({ graceMs: 0 });
      stores.close();
    },
  };
}
