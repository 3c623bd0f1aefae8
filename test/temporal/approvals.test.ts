import { describeApprovals } from '../agents/approvals.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('approvals', (server) => {
  describeApprovals('on workers', async (options) => {
    const cluster = createCluster(server);
    await cluster.startWorker(options);
    return cluster.openEngine(options);
  });
});
