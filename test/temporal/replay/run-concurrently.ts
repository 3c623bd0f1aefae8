/** Calls `work` for each item, with at most `limit` calls at a time. Returns the promises by the names of the items. */
export function runConcurrently<Item, Result>(
  items: readonly Item[],
  {
    limit,
    nameOf,
    work,
  }: { limit: number; nameOf: (item: Item) => string; work: (item: Item) => Promise<Result> },
): Map<string, Promise<Result>> {
  const waiters: (() => void)[] = [];
  let runningCount = 0;
  const run = async (item: Item): Promise<Result> => {
    if (runningCount >= limit) await new Promise<void>((resolve) => waiters.push(resolve));
    else runningCount++;
    try {
      return await work(item);
    } finally {
      const nextWaiter = waiters.shift();
      if (nextWaiter) nextWaiter();
      else runningCount--;
    }
  };
  return new Map(
    items.map((item) => {
      const result = run(item);
      // The caller that awaits the result gets the error.
      result.catch(() => undefined);
      return [nameOf(item), result];
    }),
  );
}
