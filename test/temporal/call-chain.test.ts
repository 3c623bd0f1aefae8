import { openServiceStore } from '@heddle/service';
import { it } from 'vitest';
import { ownership, testApi } from '../support/api.ts';
import { chainServer, egressTo, expectChainPassedOn } from '../support/call-chain.ts';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('the call chain of workflows', (server) => {
  it('passes through runs, children and requests of workers', async () => {
    const place = placeOn(server);
    const store = await openServiceStore({ data: place.data });
    const engine = await place.engine(ownership(store));
    const foreign = await chainServer();
    await place.worker({ egress: egressTo(foreign.url), ...ownership(store) });
    await expectChainPassedOn(await testApi({ engine, store }), foreign);
  });
});
