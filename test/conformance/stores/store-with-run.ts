import type { RunStore } from '@heddle/core';
import { createRunHeader, createStartedEntry } from '../../support/run-data.ts';

/** Returns a new store with one run, which has only its first entry. */
export async function createStoreWithRun(
  makeStore: () => RunStore | Promise<RunStore>,
  runId = 'r',
): Promise<RunStore> {
  const store = await makeStore();
  await store.create(createRunHeader(runId), createStartedEntry());
  return store;
}
