import { describeServices } from '../conformance/runtime.ts';
import { describeTemporal } from '../support/temporal.ts';
import { onServer } from './runtime.ts';

describeTemporal('conformance', (server) => {
  describeServices('Temporal', (whenDone) => onServer(server, whenDone), { durable: true, shared: true });
});
