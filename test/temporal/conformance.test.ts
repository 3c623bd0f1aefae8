import { describeGraphs } from '../conformance/runtime.ts';
import { describeTemporal } from '../support/temporal.ts';
import { runtimeOn } from './runtime.ts';

describeTemporal('conformance', (server) => {
  describeGraphs('Temporal', (whenDone) => runtimeOn(server, whenDone), 1 / 25);
});
