import type { RunStore } from '@heddle/core';
import { newRun, started } from '../../support/run-data.ts';

/** A store with a run that has only started. */
export async function withRun(make: () => RunStore | Promise<RunStore>, runId = 'r'): Promise<RunStore> {
  const store = await make();
  await store.create(newRun(runId), started());
  return store;
}
