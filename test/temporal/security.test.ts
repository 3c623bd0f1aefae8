import { randomUUID } from 'node:crypto';
import { folderStore } from '../security/stores.ts';
import { describeService } from '../security/suite.ts';
import { describeTemporal } from '../support/temporal.ts';
import { TEMPORAL_RUNTIME_ARGS } from './cli.ts';

describeTemporal('security', ({ address, namespace }) => {
  const queue = `security-${randomUUID()}`;
  const serverArgs = ['--address', address, '--namespace', namespace, '--queue', queue];
  describeService('runs on Temporal', folderStore([...TEMPORAL_RUNTIME_ARGS, ...serverArgs]));
});
