import PQueue from 'p-queue';
import type { PerformerParts } from './performer-parts.ts';

/** Lets at most `perRun` pieces of work of one run in at once, and of all runs as many as `all` does; `before` comes before each. */
export function gateOf(all: PQueue, perRun: number, before?: () => void): PerformerParts['gate'] {
  let queue: PQueue | undefined;
  // An abort gives the place in the queue free, whether the work has begun or not.
  return (work, signal) => {
    queue ??= new PQueue({ concurrency: perRun });
    const begin = before
      ? () => {
          before();
          return work();
        }
      : work;
    return queue.add(() => all.add(begin, { signal }), { signal });
  };
}
