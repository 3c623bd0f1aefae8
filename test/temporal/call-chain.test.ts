import { openServiceStore } from '@heddle/service';
import { it } from 'vitest';
import { tenantIsolation, testApi } from '../support/api.ts';
import { chainServer, egressTo, expectChainPassedOn } from '../support/call-chain.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('the call chain of workflows', (server) => {
  it('passes through runs, children and requests of workers', async () => {
    const cluster = createCluster(server);
    const store = await openServiceStore({ data: cluster.data });
    const engine = await cluster.engine(tenantIsolation(store));
    const foreignServer = await chainServer();
    await cluster.worker({ egress: egressTo(foreignServer.url), ...tenantIsolation(store) });
    await expectChainPassedOn(await testApi({ engine, store }), foreignServer);
  });
});
