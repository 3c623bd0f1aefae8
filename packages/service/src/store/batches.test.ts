import { describe, expect, it } from 'vitest';
import { Batches } from './batches.ts';

function createBatches(maxItems: number, fails: (item: number) => boolean = () => false) {
  const runs: number[][] = [];
  const batches = new Batches<number, string>(maxItems, async (items) => {
    runs.push([...items]);
    const failing = items.find(fails);
    if (failing !== undefined) throw new Error(`${failing} fails`);
    return items.map((item) => `result ${item}`);
  });
  return { batches, runs };
}

describe('Batches', () => {
  it('passes the items of one turn of the event loop together, up to the maximum', async () => {
    const { batches, runs } = createBatches(3);
    const results = await Promise.all([1, 2, 3, 4].map((item) => batches.add(item)));
    expect(results).toEqual(['result 1', 'result 2', 'result 3', 'result 4']);
    expect(runs).toEqual([[1, 2, 3], [4]]);
  });

  it('passes each item of a failed batch separately, and rejects only the item that fails', async () => {
    const { batches, runs } = createBatches(3, (item) => item === 2);
    const results = await Promise.allSettled([1, 2, 3].map((item) => batches.add(item)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(runs).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  it('is idle when no item waits', async () => {
    const { batches, runs } = createBatches(1);
    const added = [batches.add(1), batches.add(2)];
    await batches.whenIdle();
    expect(runs).toEqual([[1], [2]]);
    await Promise.all(added);
  });

  it('runs an item that is added a few microtasks after the result of the previous one', async () => {
    for (let microtasks = 0; microtasks < 6; microtasks += 1) {
      const { batches, runs } = createBatches(1);
      await batches.add(1);
      for (let count = 0; count < microtasks; count += 1) await Promise.resolve();
      await batches.add(2);
      expect(runs).toEqual([[1], [2]]);
    }
  });
});
