import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { drawnSteps, scale } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { expectOnceWhenKilled } from '../triggers/killed-steps.ts';

describeTemporal('schedules whose process is killed', ({ address, namespace }) => {
  const steps = drawnSteps(2, 'steps from a due time to its run on Temporal');

  it(
    'at each step from the due time to the run lose nothing and start nothing twice',
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
});
