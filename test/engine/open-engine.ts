import type { Engine, EngineOptions } from '@heddle/engine';
import { onTestFinished } from 'vitest';
import { createEngineOn } from '../../packages/engine/src/create.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import type { StoreOptions } from '../../packages/engine/src/store/open.ts';
import type { Stores } from '../../packages/engine/src/store/stores.ts';
import { overrideMethods } from '../support/override-methods.ts';

/** Opens an engine on the given stores. It is closed after the test. */
export async function openEngineOn(stores: Stores, options: EngineOptions = {}): Promise<Engine> {
  const registry = createRegistry(builtInExecutors, options.blocks);
  const engine = await createEngineOn(stores, registry, options);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** Returns stores that stay open when their engines close; default: in memory. */
export function openReusableStores(options: StoreOptions = {}): Stores {
  return { ...openStores(options), close: () => undefined };
}

/** Returns stores that reject writes to an existing run while `errorForRun` returns an error for the run. */
export function withFailingWrites(stores: Stores, errorForRun: (runId: string) => Error | undefined): Stores {
  const { runs } = stores;
  const throwIfFailing = (runId: string): void => {
    const error = errorForRun(runId);
    if (error) throw error;
  };
  return {
    ...stores,
    runs: overrideMethods(runs, {
      append: async (runId, entries, recordWithLogs) => {
        throwIfFailing(runId);
        await runs.append(runId, entries, recordWithLogs);
      },
      upsert: async (runId, entries) => {
        throwIfFailing(runId);
        await runs.upsert(runId, entries);
      },
      saveRecord: async (record, logs) => {
        throwIfFailing(record.runId);
        return runs.saveRecord(record, logs);
      },
      truncate: async (record, logs) => {
        throwIfFailing(record.runId);
        await runs.truncate(record, logs);
      },
      addValueUses: async (runId, keys) => {
        throwIfFailing(runId);
        await runs.addValueUses(runId, keys);
      },
      beginStep: async (runId, place, key) => {
        throwIfFailing(runId);
        return runs.beginStep(runId, place, key);
      },
      endStep: async (runId, place, key, result) => {
        throwIfFailing(runId);
        return runs.endStep(runId, place, key, result);
      },
      forgetStep: async (runId, place, key) => {
        throwIfFailing(runId);
        return runs.forgetStep(runId, place, key);
      },
    }),
  };
}
