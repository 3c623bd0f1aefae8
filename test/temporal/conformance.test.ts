import { describeGraphs } from '../conformance/runtime.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createRuntime } from './runtime.ts';

describeTemporal('conformance', (server) => {
  describeGraphs('Temporal', (registerCleanup) => createRuntime(server, registerCleanup), 1 / 25);
});
