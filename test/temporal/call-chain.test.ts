import { openServiceStore } from '@heddle/service';
import { it } from 'vitest';
import { tenantOptionsOf, createTestApi } from '../support/api.ts';
import { startChainServer, egressTo, expectChainPassedOn } from '../support/call-chain.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('the call chain of workflows', (server) => {
  it('passes through runs, children and requests of workers', async () => {
    const cluster = createCluster(server);
    const store = await openServiceStore({ data: cluster.data });
    const engine = await cluster.openEngine(tenantOptionsOf(store));
    const chainServer = await startChainServer();
    await cluster.startWorker({ egress: egressTo(chainServer.url), ...tenantOptionsOf(store) });
    await expectChainPassedOn(await createTestApi({ engine, store }), chainServer);
  });
});
