import { join } from 'node:path';
import { it } from 'vitest';
import { expectOneNotification, NOTIFICATION_WORKFLOW, startProcess } from '../agents/killable-process.ts';
import { describeInterruptedPauses, describeNotifications } from '../agents/notifications.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('notifications of pauses', (server) => {
  describeNotifications('on workers', async (options) => {
    const cluster = createCluster(server);
    await cluster.startWorker(options);
    return cluster.openEngine(options);
  });

  it('are not repeated if the worker is killed: another worker records the pause with the URL that was already sent', async () => {
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const options = { worker, url: '', effectsFile: join(createDataFolder(), 'effects') };
    const engine = await cluster.openEngine();
    const killedProcess = startProcess({ ...options, stopPoint: 'notified' }, 'notifying');
    const run = await engine.start({ workflow: NOTIFICATION_WORKFLOW });
    await killedProcess.lastLine;
    const otherProcess = startProcess(options, 'notifying');
    await run.result();
    const [pause] = (await engine.getRun(run.runId)).pauses;
    expectOneNotification(pause?.output, options.effectsFile);
    otherProcess.closeStdin();
    await otherProcess.lastLine;
  });

  describeInterruptedPauses(async () => {
    const cluster = createCluster(server);
    return async (options) => {
      const worker = await cluster.startWorker(options);
      return {
        engine: await cluster.openEngine(options),
        stop: () => worker.stop({ drainMs: 0, killMs: 2000 }),
      };
    };
  });
});
