import { expect, it } from 'vitest';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('versions of workers', (server) => {
  // The development server does not support versions; test/temporal/production/ tests a server that does.
  it('cause an error if the server does not support them', async () => {
    const version = { deployment: 'looms', build: '7' };
    await expect(createCluster(server).startWorker({ tuning: { version } })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining('version 7 of the worker deployment "looms"') as string,
    });
  });
});
