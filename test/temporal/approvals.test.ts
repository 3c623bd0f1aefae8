import { describeApprovals } from '../agents/approvals.ts';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('approvals', (server) => {
  describeApprovals('on workers', async (options) => {
    const place = placeOn(server);
    await place.worker(options);
    return place.engine(options);
  });
});
