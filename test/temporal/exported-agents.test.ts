import { describeExportedWorkflows } from '../agents/exported.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('exported workflows', (server) => {
  describeExportedWorkflows('on workers', async (options) => {
    const cluster = createCluster(server);
    await cluster.worker(options);
    return cluster.engine(options);
  });
});
