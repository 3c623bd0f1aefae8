import { describeInterrupted, describeNotifications } from '../agents/notifications.ts';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('notifications of pauses', (server) => {
  describeNotifications('on workers', async (options) => {
    const place = placeOn(server);
    await place.worker(options);
    return place.engine(options);
  });

  describeInterrupted(async () => {
    const place = placeOn(server);
    return async (options) => {
      const worker = await place.worker(options);
      return { engine: await place.engine(options), stop: () => worker.stop({ drainMs: 0, killMs: 2000 }) };
    };
  });
});
