import { describeExportedWorkflows } from '../agents/exported.ts';
import { describeTemporal } from '../support/temporal.ts';
import { clusterOn } from './cluster.ts';

describeTemporal('exported workflows', (server) => {
  describeExportedWorkflows('on workers', async (options) => {
    const cluster = clusterOn(server);
    await cluster.worker(options);
    return cluster.engine(options);
  });
});
