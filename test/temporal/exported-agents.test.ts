import { describeExportedWorkflows } from '../agents/exported.ts';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('exported workflows', (server) => {
  describeExportedWorkflows('on workers', async (options) => {
    const place = placeOn(server);
    await place.worker(options);
    return place.engine(options);
  });
});
