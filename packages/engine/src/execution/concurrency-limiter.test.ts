import PQueue from 'p-queue';
import { describe, expect, it } from 'vitest';
import { createLimiter, Slot } from './concurrency-limiter.ts';

const createEngineQueue = () => new PQueue({ concurrency: 1 });
const createDeferred = () => Promise.withResolvers<undefined>();

describe('a slot', () => {
  it('is free for other work while its own work waits, and is taken again before that work continues', async () => {
    const limiter = createLimiter(createEngineQueue(), 1);
    const { signal } = new AbortController();
    const order: string[] = [];
    const waiting = createDeferred();
    const other = createDeferred();
    const first = new Slot(limiter, signal);
    const one = first.run(async () => {
      order.push('one begins');
      await first.runWithout(async () => waiting.promise);
      order.push('one continues');
      return 1;
    });
    const two = new Slot(limiter, signal).run(async () => {
      order.push('two begins');
      waiting.resolve(undefined);
      await other.promise;
      order.push('two ends');
      return 2;
    });
    const three = new Slot(limiter, signal).run(async () => order.push('three'));
    await waiting.promise;
    await new Promise(setImmediate);
    expect(order).toEqual(['one begins', 'two begins']);
    other.resolve(undefined);
    expect(await Promise.all([one, two])).toEqual([1, 2]);
    await three;
    expect(order).toEqual(['one begins', 'two begins', 'two ends', 'three', 'one continues']);
  });

  it('is free after work that fails', async () => {
    const limiter = createLimiter(createEngineQueue(), 1);
    const { signal } = new AbortController();
    const failing = new Slot(limiter, signal).run(async () => Promise.reject(new Error('broken')));
    await expect(failing).rejects.toThrow('broken');
    expect(await new Slot(limiter, signal).run(async () => 1)).toBe(1);
  });

  it('rejects with the reason of the abort if the work is aborted while it waits', async () => {
    const limiter = createLimiter(createEngineQueue(), 1);
    const controller = new AbortController();
    const slot = new Slot(limiter, controller.signal);
    const blocked = createDeferred();
    const run = slot.run(async () => slot.runWithout(async () => blocked.promise));
    run.catch(() => undefined);
    await new Promise(setImmediate);
    const other = new Slot(limiter, new AbortController().signal).run(async () => 2);
    controller.abort(new Error('cancelled'));
    blocked.reject(new Error('cancelled'));
    await expect(run).rejects.toThrow('cancelled');
    expect(await other).toBe(2);
  });
});
