import PQueue from 'p-queue';
import { describe, expect, it } from 'vitest';
import { FairQueue } from './fair-queue.ts';
import type { FairQueueOptions } from './fair-queue.ts';

describe('a fair queue', () => {
  it('takes work of several groups in turn, and work of one group in order', async () => {
    const queue = new PQueue<FairQueue, FairQueueOptions>({ concurrency: 1, queueClass: FairQueue });
    const order: string[] = [];
    const add = (group: string, name: string) => queue.add(async () => void order.push(name), { group });
    const gate = Promise.withResolvers<void>();
    const work = [queue.add(() => gate.promise)];
    for (const name of ['a1', 'a2', 'a3', 'a4']) work.push(add('a', name));
    work.push(add('b', 'b1'), add('b', 'b2'), add('c', 'c1'));
    gate.resolve();
    await Promise.all(work);
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
    expect(queue.size).toBe(0);
  });

  it('removes work that is aborted before it begins', async () => {
    const queue = new PQueue<FairQueue, FairQueueOptions>({ concurrency: 1, queueClass: FairQueue });
    const gate = Promise.withResolvers<void>();
    const firstWork = queue.add(() => gate.promise, { group: 'a' });
    const controller = new AbortController();
    const abortedWork = queue.add(async () => 1, { group: 'a', signal: controller.signal });
    const lastWork = queue.add(async () => 2, { group: 'a' });
    expect(queue.sizeBy({ group: 'a' })).toBe(2);
    controller.abort(new Error('no longer needed'));
    await expect(abortedWork).rejects.toThrow('no longer needed');
    expect(queue.size).toBe(1);
    gate.resolve();
    expect(await lastWork).toBe(2);
    await firstWork;
  });
});
