import { describeServices } from '../conformance/runtime.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createRuntime } from './runtime.ts';

describeTemporal('conformance', (server) => {
  const shares = { share: 1 / 14, restartShare: 1 / 8 };
  const runtimeOptions = { durable: true, continuesOnAnyWorker: true, ...shares };
  describeServices('Temporal', (registerCleanup) => createRuntime(server, registerCleanup), runtimeOptions);
});
