import { describeExportedAgents } from '../agents/exported.ts';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('exported workflows', (server) => {
  describeExportedAgents('on workers', async (options) => {
    const place = placeOn(server);
    await place.worker(options);
    return place.engine(options);
  });
});
