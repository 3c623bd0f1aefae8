/** Calls `work` for each item, with at most `most` calls at a time. Returns the promises by the names of the items. */
export function inFlight<Item, Result>(
  items: readonly Item[],
  { most, name, work }: { most: number; name: (item: Item) => string; work: (item: Item) => Promise<Result> },
): Map<string, Promise<Result>> {
  const free: (() => void)[] = [];
  let busy = 0;
  const run = async (item: Item): Promise<Result> => {
    if (busy >= most) await new Promise<void>((resolve) => free.push(resolve));
    else busy++;
    try {
      return await work(item);
    } finally {
      const next = free.shift();
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
