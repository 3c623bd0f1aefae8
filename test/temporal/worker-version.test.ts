import { expect, it } from 'vitest';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('versions of workers', (server) => {
  // The server of these tests has none; those that have are in test/temporal/production/.
  it('that the server does not take are told, instead of a worker that gets nothing', async () => {
    const version = { deployment: 'looms', build: '7' };
    await expect(placeOn(server).worker({ tuning: { version } })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining('version 7 of the worker deployment "looms"') as string,
    });
  });
});
