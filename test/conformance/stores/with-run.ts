import type { RunStore } from '@heddle/core';
import { newRun, started } from '../../support/run-data.ts';

/** Creates a run in the store, with only its first entry. */
export async function withRun(make: () => RunStore | Promise<RunStore>, runId = 'r'): Promise<RunStore> {
  const store = await make();
  await store.create(newRun(runId), started());
  return store;
}
