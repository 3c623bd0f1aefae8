import { describeGraphs } from '../conformance/runtime.ts';
import { describeTemporal } from '../support/temporal.ts';
import { onServer } from './runtime.ts';

describeTemporal('conformance', (server) => {
  describeGraphs('Temporal', (whenDone) => onServer(server, whenDone), 1 / 25);
});
