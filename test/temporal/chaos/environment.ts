import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { openPostgres, openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { temporal } from '@heddle/temporal';
import type { WorkerTuning } from '@heddle/temporal';
import { onTestFinished } from 'vitest';
import { effectExecutors } from './blocks.ts';
import { startEffectServer } from './effect-server.ts';
import type { EffectServer } from './effect-server.ts';
import { Fleet } from './fleet.ts';

/** Stores, an effect server, worker processes, and an engine without a worker in the process of the test. */
export interface Environment {
  engine: Engine;
  stores: SharedStores;
  effects: EffectServer;
  fleet: Fleet;
}

export interface EnvironmentOptions {
  address: string;
  namespace: string;
  /** A data folder, or a PostgreSQL database. */
  store: { data: string } | { postgres: string };
  workers: number;
  worker?: WorkerTuning;
  /** False if code must not run within workflow tasks. */
  localSegments?: boolean;
}

/** Returns an environment with `workers` ready worker processes, which are stopped after the test. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { address, namespace, store, workers, worker, localSegments = true } = options;
  const shared = { address, namespace, taskQueue: `chaos-${randomUUID()}`, localSegments };
  const effects = await startEffectServer();
  onTestFinished(() => effects.close());
  const stores =
    'data' in store ? openStores({ ...store, shared: true }) : await openPostgres({ url: store.postgres });
  onTestFinished(() => stores.close());
  const fleet = new Fleet({ ...shared, ...store, effectServerUrl: effects.url, ...(worker && { worker }) });
  onTestFinished(() => fleet.stop());
  const engine = await createEngine({
    runtime: temporal({ ...shared, stores, worker: false }),
    blocks: effectExecutors(effects.url),
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  await Promise.all(Array.from({ length: workers }, () => fleet.start()));
  return { engine, stores, effects, fleet };
}
