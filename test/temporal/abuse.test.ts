import { randomUUID } from 'node:crypto';
import { folderStore } from '../abuse/stores.ts';
import { describeService } from '../abuse/suite.ts';
import { describeTemporal } from '../support/temporal.ts';
import { TEMPORAL_RUNTIME_ARGS } from './cli.ts';

describeTemporal('abuse', ({ address, namespace }) => {
  const queue = `abuse-${randomUUID()}`;
  const serverArgs = ['--address', address, '--namespace', namespace, '--queue', queue];
  describeService('runs on Temporal', folderStore([...TEMPORAL_RUNTIME_ARGS, ...serverArgs]));
});
