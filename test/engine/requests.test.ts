import { expect, it } from 'vitest';
import { overrideMethods } from '../support/override-methods.ts';
import { Script, work } from '../support/script.ts';
import { TestClock } from '../support/test-clock.ts';
import { workflow } from '../support/workflow.ts';
import { openEngineOn, openReusableStores } from './open-engine.ts';

const single = { workflow: workflow([work('A')], ['Start -> A']) };

it('a cancel of another process succeeds even if the owner dies after it has cancelled the run and before it has stored the outcome', async () => {
  const clock = new TestClock();
  const stores = openReusableStores({ clock });
  const script = new Script();
  const options = { clock, blocks: [script.executor] };
  const cancelled = Promise.withResolvers<void>();
  const control = overrideMethods(stores.control, { settle: async () => cancelled.resolve() });
  const owner = await openEngineOn({ ...stores, control }, options);
  const { runId } = await owner.start(single);
  await script.nextCall('A');
  const cancel = { runId, kind: 'cancel', payload: {} } as const;
  const request = await stores.control.add(cancel);
  await cancelled.promise;
  await owner.close({ graceMs: 0 });
  clock.advance(1000);
  const next = await openEngineOn(stores, options);
  await expect
    .poll(() => stores.control.outcome(request))
    .toEqual({ status: 'done', value: { cancelled: true } });
  expect(await next.getRun(runId)).toMatchObject({ status: 'cancelled' });
  const late = await stores.control.add(cancel);
  await expect
    .poll(() => stores.control.outcome(late))
    .toEqual({ status: 'done', value: { cancelled: false } });
});
