import { expect, it } from 'vitest';
import { createRunRecord } from '../../../../test/support/run-data.ts';
import { RunWaiter } from './run-waiter.ts';

it('ends a wait for a run that is still running when it is closed', async () => {
  const waiter = new RunWaiter(async (runId) => createRunRecord(runId));
  const waitPromise = waiter.waitUntilIdle('r', 1);
  waiter.close();
  await expect(waitPromise).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
});

it('returns a run that is idle even after it was closed', async () => {
  const waiter = new RunWaiter(async (runId) => createRunRecord(runId, { status: 'completed' }));
  waiter.close();
  await expect(waiter.waitUntilIdle('r', 1)).resolves.toBeUndefined();
});
