import type { Queue, QueueAddOptions } from 'p-queue';

type Task = () => Promise<unknown>;

export interface FairQueueOptions extends QueueAddOptions {
  /** Work of one group is taken in order, work of several groups in turn. */
  readonly group?: string;
}

/**
 * The queue of a `PQueue` that takes work of each group in turn: a burst of one group does not delay the work of other
 * groups.
 */
export class FairQueue implements Queue<Task, FairQueueOptions> {
  readonly #groups = new Map<string, { task: Task; id: string | undefined }[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  enqueue(task: Task, { id, group = '' }: Partial<FairQueueOptions> = {}): void {
    const entries = this.#groups.get(group);
    if (entries) entries.push({ task, id });
    else this.#groups.set(group, [{ task, id }]);
    this.#size += 1;
  }

  dequeue(): Task | undefined {
    const [firstGroup] = this.#groups;
    if (!firstGroup) return undefined;
    const [group, entries] = firstGroup;
    const nextEntry = entries.shift();
    // A map keeps insertion order, so this moves the group to the end.
    this.#groups.delete(group);
    if (entries.length > 0) this.#groups.set(group, entries);
    this.#size -= 1;
    return nextEntry?.task;
  }

  filter({ group = '' }: Readonly<Partial<FairQueueOptions>>): Task[] {
    return (this.#groups.get(group) ?? []).map(({ task }) => task);
  }

  remove(id: string): void {
    for (const [group, entries] of this.#groups) {
      const index = entries.findIndex((entry) => entry.id === id);
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
