interface WaitingItem<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Passes the items of one iteration of the event loop to `run` together, at most `maxItems` of them, so that a burst
 * does not wait for one commit per item. `run` is one transaction and returns a result for each item; items that arrive
 * in the meantime wait for the next transaction. If `run` fails, each item is passed separately, because one of them
 * may be the cause.
 */
export class Batcher<Item, Result> {
  readonly #maxItems: number;
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #waitingItems: WaitingItem<Item, Result>[] = [];
  #processingPromise: Promise<void> | undefined;

  constructor(maxItems: number, run: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#maxItems = maxItems;
    this.#run = run;
  }

  /** Resolves with the result of the item when its batch has run. */
  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waitingItems.push({ item, resolve, reject });
    this.#processingPromise ??= this.#processWaitingItems();
    return promise;
  }

  /** Resolves when all items have been processed. */
  async whenIdle(): Promise<void> {
    await this.#processingPromise;
  }

  async #processWaitingItems(): Promise<void> {
    while (this.#waitingItems.length > 0) {
      // Lets the event loop read more items first: requests of other connections, or runs that have started.
      await new Promise(setImmediate);
      await this.#runBatch(this.#waitingItems.splice(0, this.#maxItems));
    }
    // No await since the last check for waiting items: an item that is added later starts the processing again.
    this.#processingPromise = undefined;
  }

  async #runBatch(batch: readonly WaitingItem<Item, Result>[]): Promise<void> {
    let results: readonly Result[];
    try {
      results = await this.#run(batch.map(({ item }) => item));
    } catch (error) {
      if (batch.length === 1) return batch[0]?.reject(error);
      for (const item of batch) await this.#runBatch([item]);
      return;
    }
    for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
  }
}
