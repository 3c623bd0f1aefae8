import { join } from 'node:path';
import { it } from 'vitest';
import { expectOneNotification, NOTIFYING, play } from '../agents/killed.ts';
import { describeInterrupted, describeNotifications } from '../agents/notifications.ts';
import { dataFolder } from '../support/data-folder.ts';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('notifications of pauses', (server) => {
  describeNotifications('on workers', async (options) => {
    const place = placeOn(server);
    await place.worker(options);
    return place.engine(options);
  });

  it('are not repeated if the worker is killed: another worker opens the pause at the sent address', async () => {
    const place = placeOn(server);
    const { address, namespace } = server;
    const worker = { address, namespace, queue: place.queue, data: place.data };
    const options = { worker, url: '', effects: join(dataFolder(), 'effects') };
    const engine = await place.engine();
    const killed = play({ ...options, stop: 'notified' }, 'notifying');
    const run = await engine.start({ workflow: NOTIFYING });
    await killed.last;
    const other = play(options, 'notifying');
    await run.result();
    const [pause] = (await engine.getRun(run.runId)).pauses;
    expectOneNotification(pause?.output, options.effects);
    other.end();
    await other.last;
  });

  describeInterrupted(async () => {
    const place = placeOn(server);
    return async (options) => {
      const worker = await place.worker(options);
      return { engine: await place.engine(options), stop: () => worker.stop({ drainMs: 0, killMs: 2000 }) };
    };
  });
});
