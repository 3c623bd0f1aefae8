/** Calls `work` for each item, with at most `limit` calls at a time. Returns the promises by the names of the items. */
export function runConcurrently<Item, Result>(
  items: readonly Item[],
  {
    limit,
    name,
    work,
  }: { limit: number; name: (item: Item) => string; work: (item: Item) => Promise<Result> },
): Map<string, Promise<Result>> {
  const waiting: (() => void)[] = [];
  let busy = 0;
  const run = async (item: Item): Promise<Result> => {
    if (busy >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else busy++;
    try {
      return await work(item);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else busy--;
    }
  };
  return new Map(
    items.map((item) => {
      const result = run(item);
      // The caller that awaits the result gets the error.
      result.catch(() => undefined);
      return [name(item), result];
    }),
  );
}
