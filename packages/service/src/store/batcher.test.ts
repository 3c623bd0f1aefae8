import { describe, expect, it } from 'vitest';
import { Batcher } from './batcher.ts';

function createBatches(maxItems: number, fails: (item: number) => boolean = () => false) {
  const executedBatches: number[][] = [];
  const batches = new Batcher<number, string>(maxItems, async (items) => {
    executedBatches.push([...items]);
    const failingItem = items.find(fails);
    if (failingItem !== undefined) throw new Error(`${failingItem} fails`);
    return items.map((item) => `result ${item}`);
  });
  return { batches, runs: executedBatches };
}

describe('Batcher', () => {
  it('passes the items of one iteration of the event loop together, up to the maximum', async () => {
    const { batches, runs: executedBatches } = createBatches(3);
    const results = await Promise.all([1, 2, 3, 4].map((item) => batches.add(item)));
    expect(results).toEqual(['result 1', 'result 2', 'result 3', 'result 4']);
    expect(executedBatches).toEqual([[1, 2, 3], [4]]);
  });

  it('passes each item of a failed batch separately, and rejects only the item that fails', async () => {
    const { batches, runs: executedBatches } = createBatches(3, (item) => item === 2);
    const results = await Promise.allSettled([1, 2, 3].map((item) => batches.add(item)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(executedBatches).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  it('is idle when no item waits', async () => {
    const { batches, runs: executedBatches } = createBatches(1);
    const results = [batches.add(1), batches.add(2)];
    await batches.whenIdle();
    expect(executedBatches).toEqual([[1], [2]]);
    await Promise.all(results);
  });

  it('runs an item that is added a few microtasks after the result of the previous one', async () => {
    for (let microtaskCount = 0; microtaskCount < 6; microtaskCount += 1) {
      const { batches, runs: executedBatches } = createBatches(1);
      await batches.add(1);
      for (let count = 0; count < microtaskCount; count += 1) await Promise.resolve();
      await batches.add(2);
      expect(executedBatches).toEqual([[1], [2]]);
    }
  });
});
