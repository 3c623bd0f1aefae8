import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { drawnSteps, scale } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { expectHeldOnceWhenKilled } from '../triggers/flow-killed-steps.ts';
import { expectEventsOnceWhenKilled, expectOnceWhenKilled } from '../triggers/killed-steps.ts';

describeTemporal('triggers whose process is killed', ({ address, namespace }) => {
  const steps = drawnSteps(2, 'steps from a due time to its run on Temporal');

  it(
    'at each step from the due time of a schedule to its run lose nothing and start nothing twice',
    { timeout: 300_000 },
    async () => {
      const data = dataFolder();
      const queue = `test-${randomUUID()}`;
      const temporal = { address, namespace, queue, data };
      // The steps before the last four know nothing of the server.
      const first = steps.first + scale(3, 0);
      await expectOnceWhenKilled({ store: { data }, engine: {}, temporal }, { ...steps, first });
    },
  );

  it('at each step of flow control lose nothing and start nothing twice', { timeout: 300_000 }, async () => {
    const data = dataFolder();
    const temporal = { address, namespace, queue: `test-${randomUUID()}`, data };
    const place = { store: { data }, engine: {}, temporal };
    await expectHeldOnceWhenKilled(place, { concurrency: 1 }, { ...steps, stride: scale(12, 1) });
  });

  it(
    'at each step from the end of a run to the run of its event lose and double nothing',
    { timeout: 300_000 },
    async () => {
      const data = dataFolder();
      const temporal = { address, namespace, queue: `test-${randomUUID()}`, data };
      const place = { store: { data }, engine: {}, temporal };
      await expectEventsOnceWhenKilled(place, { ...steps, stride: scale(8, 1) });
    },
  );
});
