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
  effectServer: EffectServer;
  fleet: Fleet;
}

export interface EnvironmentOptions {
  address: string;
  namespace: string;
  /** A data folder, or a PostgreSQL database. */
  store: { data: string } | { postgres: string };
  workerCount: number;
  workerTuning?: WorkerTuning;
  /** False if code must not run within workflow tasks. */
  localSegments?: boolean;
}

/** Returns an environment with `workerCount` ready worker processes, which are stopped after the test. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { address, namespace, store, workerCount, workerTuning, localSegments = true } = options;
  const commonOptions = { address, namespace, taskQueue: `chaos-${randomUUID()}`, localSegments };
  const effectServer = await startEffectServer();
  onTestFinished(() => effectServer.close());
  const stores =
    'data' in store ? openStores({ ...store, shared: true }) : await openPostgres({ url: store.postgres });
  onTestFinished(() => stores.close());
  const fleet = new Fleet({
    ...commonOptions,
    ...store,
    effectServerUrl: effectServer.url,
    ...(workerTuning && { worker: workerTuning }),
  });
  onTestFinished(() => fleet.stop());
  const engine = await createEngine({
    runtime: temporal({ ...commonOptions, stores, worker: false }),
    blocks: effectExecutors(effectServer.url),
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  await Promise.all(Array.from({ length: workerCount }, () => fleet.start()));
  return { engine, stores, effectServer, fleet };
}
