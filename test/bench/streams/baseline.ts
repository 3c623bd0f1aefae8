import { fork } from 'node:child_process';
import { EventEmitter, on, once } from 'node:events';
import type { Contender } from '../workload.ts';
import { TOKEN_PROCESS } from './heddle.ts';
import { medianDelay, msSince } from './token.ts';

/** In one process, the text is an event of an emitter; between two processes, a message of the IPC channel. */
export const baseline: Contender = {
  'first text': () => {
    const emitter = new EventEmitter();
    return medianDelay(
      async () => {
        setImmediate(() => emitter.emit('text', String(process.hrtime.bigint())));
        for await (const [time] of on(emitter, 'text')) return msSince(time as string);
        return 0;
      },
      () => undefined,
    );
  },
  'first text in another process': async () => {
    const child = fork(TOKEN_PROCESS, [], { execArgv: ['--no-warnings'] });
    await once(child, 'message');
    return medianDelay(
      async () => {
        child.send('emit');
        const [{ time }] = (await once(child, 'message')) as [{ time: string }];
        return msSince(time);
      },
      () => child.disconnect(),
    );
  },
};
