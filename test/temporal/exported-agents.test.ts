import { describeExportedWorkflows } from '../agents/exported-workflows.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('exported workflows', (server) => {
  describeExportedWorkflows('on workers', async (options) => {
    const cluster = createCluster(server);
    await cluster.startWorker(options);
    return cluster.openEngine(options);
  });
});
