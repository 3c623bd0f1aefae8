import type { Queue, QueueAddOptions } from 'p-queue';

type Run = () => Promise<unknown>;

export interface FairOptions extends QueueAddOptions {
  /** Work of one group is taken in order, work of several groups in turn. */
  readonly group?: string;
}

/**
 * The queue of a `PQueue` that takes work of each group in turn: a burst of one group does not delay the work of other
 * groups.
 */
export class FairQueue implements Queue<Run, FairOptions> {
  readonly #groups = new Map<string, { run: Run; id: string | undefined }[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  enqueue(run: Run, { id, group = '' }: Partial<FairOptions> = {}): void {
    const entries = this.#groups.get(group);
    if (entries) entries.push({ run, id });
    else this.#groups.set(group, [{ run, id }]);
    this.#size += 1;
  }

  dequeue(): Run | undefined {
    const [first] = this.#groups;
    if (!first) return undefined;
    const [group, entries] = first;
    const next = entries.shift();
    // A map keeps insertion order, so this moves the group to the end.
    this.#groups.delete(group);
    if (entries.length > 0) this.#groups.set(group, entries);
    this.#size -= 1;
    return next?.run;
  }

  filter({ group = '' }: Readonly<Partial<FairOptions>>): Run[] {
    return (this.#groups.get(group) ?? []).map(({ run }) => run);
  }

  remove(id: string): void {
    for (const [group, entries] of this.#groups) {
      const index = entries.findIndex((each) => each.id === id);
      if (index === -1) continue;
      entries.splice(index, 1);
      this.#size -= 1;
      if (entries.length === 0) this.#groups.delete(group);
      return;
    }
  }

  setPriority(): void {
    throw new TypeError('Work of a fair queue has no priority.');
  }
}
