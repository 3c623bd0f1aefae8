/** A binary heap of strings, smallest (by code unit) first. */
export class StringHeap {
  readonly #items: string[] = [];

  get size(): number {
    return this.#items.length;
  }

  push(item: string): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if ((items[up] as string) <= item) break;
      items[at] = items[up] as string;
      at = up;
    }
    items[at] = item;
  }

  pop(): string | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return first;
    let at = 0;
    for (;;) {
      let down = at * 2 + 1;
      if (down >= items.length) break;
      if (down + 1 < items.length && (items[down + 1] as string) < (items[down] as string)) down++;
      if ((items[down] as string) >= last) break;
      items[at] = items[down] as string;
      at = down;
    }
    items[at] = last;
    return first;
  }
}

/**
 * Returns the nodes in topological order, ties by id (Kahn's algorithm with a heap): the same for every order of nodes
 * and edges, even with several edges between the same nodes.
 *
 * Nodes on a cycle, and their successors, are omitted.
 */
export function topologicalOrder(
  nodes: readonly string[],
  outOf: ReadonlyMap<string, readonly { target: string }[]>,
): string[] {
  const waiting = new Map(nodes.map((node) => [node, 0]));
  for (const node of nodes)
    for (const { target } of outOf.get(node) ?? []) waiting.set(target, (waiting.get(target) ?? 0) + 1);
  const ready = new StringHeap();
  for (const [node, count] of waiting) if (count === 0) ready.push(node);
  const order: string[] = [];
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    order.push(node);
    for (const { target } of outOf.get(node) ?? []) {
      const remaining = (waiting.get(target) as number) - 1;
      waiting.set(target, remaining);
      if (remaining === 0) ready.push(target);
    }
  }
  return order;
}
