import { describeServices } from '../conformance/runtime.ts';
import { describeTemporal } from '../support/temporal.ts';
import { onServer } from './runtime.ts';

describeTemporal('conformance', (server) => {
  const durability = { durable: true, shared: true };
  describeServices('Temporal', (whenDone) => onServer(server, whenDone), { ...durability, share: 1 / 4 });
});
