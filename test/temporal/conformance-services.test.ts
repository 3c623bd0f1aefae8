import { describeServices } from '../conformance/runtime.ts';
import { describeTemporal } from '../support/temporal.ts';
import { onServer } from './runtime.ts';

describeTemporal('conformance', (server) => {
  const shares = { share: 1 / 9, restarts: 1 / 6 };
  const runtime = { durable: true, shared: true, ...shares };
  describeServices('Temporal', (whenDone) => onServer(server, whenDone), runtime);
});
