import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { scale } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { expectOnceWhenKilled } from '../triggers/killed-steps.ts';

describeTemporal('schedules whose process is killed', ({ address, namespace }) => {
  it(
    'at each step from the due time to the run lose nothing and start nothing twice',
    { timeout: 300_000 },
    async () => {
      const data = dataFolder();
      const queue = `test-${randomUUID()}`;
      const temporal = { address, namespace, queue, data };
      // The steps before the last four know nothing of the server.
      await expectOnceWhenKilled({ store: { data }, engine: {}, temporal }, scale(4, 1));
    },
  );
});
