import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { describeTemporal } from '../support/temporal.ts';
import { keyboardJourney } from '../studio/journey.ts';
import { chromiumTool, studio } from '../studio/setup.ts';
import { ON_TEMPORAL } from './cli.ts';

describeTemporal('the Studio over runs on Temporal', (server) => {
  const world = studio({
    store: (whenDone) => {
      const { address, namespace } = server;
      const options = ['--address', address, '--namespace', namespace, '--queue', `studio-${randomUUID()}`];
      return Promise.resolve([...ON_TEMPORAL, ...options, '--data', dataFolder(whenDone)]);
    },
  });

  it.skipIf(!chromiumTool)(
    'signs in, filters, answers a pause and cancels a run, without a mouse',
    { timeout: 120_000 },
    async () => {
      expect(await keyboardJourney(world)).toBe('Cancelled');
    },
  );
});
