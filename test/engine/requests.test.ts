import { expect, it } from 'vitest';
import { overrideMethods } from '../support/override-methods.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { TestClock } from '../support/test-clock.ts';
import { workflow } from '../support/workflow.ts';
import { openEngineOn, openReusableStores } from './open-engine.ts';

const singleBlockSource = { workflow: workflow([work('A')], ['Start -> A']) };

it('a cancellation by another process succeeds even if the owner dies after it has cancelled the run and before it has stored the outcome', async () => {
  const clock = new TestClock();
  const stores = openReusableStores({ clock });
  const scriptedExecutor = new ScriptedExecutor();
  const options = { clock, blocks: [scriptedExecutor.executor] };
  const cancellation = Promise.withResolvers<void>();
  const control = overrideMethods(stores.control, { settle: async () => cancellation.resolve() });
  const owner = await openEngineOn({ ...stores, control }, options);
  const { runId } = await owner.start(singleBlockSource);
  await scriptedExecutor.nextCall('A');
  const cancelRequest = { runId, kind: 'cancel', payload: {} } as const;
  const requestId = await stores.control.add(cancelRequest);
  await cancellation.promise;
  await owner.close({ graceMs: 0 });
  clock.advance(1000);
  const nextOwner = await openEngineOn(stores, options);
  await expect
    .poll(() => stores.control.outcome(requestId))
    .toEqual({ status: 'done', value: { cancelled: true } });
  expect(await nextOwner.getRun(runId)).toMatchObject({ status: 'cancelled' });
  const lateRequestId = await stores.control.add(cancelRequest);
  await expect
    .poll(() => stores.control.outcome(lateRequestId))
    .toEqual({ status: 'done', value: { cancelled: false } });
});
