import { join } from 'node:path';
import { it } from 'vitest';
import { expectOneNotification, NOTIFYING, startProcess } from '../agents/killed.ts';
import { describeInterruptedPauses, describeNotifications } from '../agents/notifications.ts';
import { dataFolder } from '../support/data-folder.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('notifications of pauses', (server) => {
  describeNotifications('on workers', async (options) => {
    const cluster = createCluster(server);
    await cluster.worker(options);
    return cluster.engine(options);
  });

  it('are not repeated if the worker is killed: another worker opens the pause with the sent URL', async () => {
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const options = { worker, url: '', effects: join(dataFolder(), 'effects') };
    const engine = await cluster.engine();
    const killed = startProcess({ ...options, stop: 'notified' }, 'notifying');
    const run = await engine.start({ workflow: NOTIFYING });
    await killed.lastLine;
    const other = startProcess(options, 'notifying');
    await run.result();
    const [pause] = (await engine.getRun(run.runId)).pauses;
    expectOneNotification(pause?.output, options.effects);
    other.end();
    await other.lastLine;
  });

  describeInterruptedPauses(async () => {
    const cluster = createCluster(server);
    return async (options) => {
      const worker = await cluster.worker(options);
      return { engine: await cluster.engine(options), stop: () => worker.stop({ drainMs: 0, killMs: 2000 }) };
    };
  });
});
