import { describe, expect, it } from 'vitest';
import { Batcher } from './batcher.ts';

function createBatcher(maxItems: number, fails: (item: number) => boolean = () => false) {
  const executedBatches: number[][] = [];
  const batcher = new Batcher<number, string>(maxItems, async (items) => {
    executedBatches.push([...items]);
    const failingItem = items.find(fails);
    if (failingItem !== undefined) throw new Error(`${failingItem} fails`);
    return items.map((item) => `result ${item}`);
  });
  return { batcher, executedBatches };
}

describe('Batcher', () => {
  it('passes the items of one iteration of the event loop together, up to the maximum', async () => {
    const { batcher, executedBatches } = createBatcher(3);
    const results = await Promise.all([1, 2, 3, 4].map((item) => batcher.add(item)));
    expect(results).toEqual(['result 1', 'result 2', 'result 3', 'result 4']);
    expect(executedBatches).toEqual([[1, 2, 3], [4]]);
  });

  it('passes each item of a failed batch separately, and rejects only the item that fails', async () => {
    const { batcher, executedBatches } = createBatcher(3, (item) => item === 2);
    const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(executedBatches).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  it('is idle when no item waits', async () => {
    const { batcher, executedBatches } = createBatcher(1);
    const results = [batcher.add(1), batcher.add(2)];
    await batcher.whenIdle();
    expect(executedBatches).toEqual([[1], [2]]);
    await Promise.all(results);
  });

  it('runs an item that is added a few microtasks after the result of the previous one', async () => {
    for (let microtaskCount = 0; microtaskCount < 6; microtaskCount += 1) {
      const { batcher, executedBatches } = createBatcher(1);
      await batcher.add(1);
      for (let count = 0; count < microtaskCount; count += 1) await Promise.resolve();
      await batcher.add(2);
      expect(executedBatches).toEqual([[1], [2]]);
    }
  });
});
