/** A binary heap of strings, smallest (by code unit) first. */
export class StringHeap {
  readonly #items: string[] = [];

  get size(): number {
    return this.#items.length;
  }

  push(item: string): void {
    const items = this.#items;
    let index = items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((items[parent] as string) <= item) break;
      items[index] = items[parent] as string;
      index = parent;
    }
    items[index] = item;
  }

  pop(): string | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return first;
    let index = 0;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && (items[child + 1] as string) < (items[child] as string)) child++;
      if ((items[child] as string) >= last) break;
      items[index] = items[child] as string;
      index = child;
    }
    items[index] = last;
    return first;
  }
}

/**
 * Returns the nodes in topological order, with ties broken by id (Kahn's algorithm with a heap). The result depends
 * neither on the order of `nodes` and edges, nor on repeated edges between the same nodes.
 *
 * Nodes on a cycle, and their successors, are omitted.
 */
export function topologicalOrder(
  nodes: readonly string[],
  outgoingEdges: ReadonlyMap<string, readonly { target: string }[]>,
): string[] {
  const inDegrees = new Map(nodes.map((node) => [node, 0]));
  for (const node of nodes)
    for (const { target } of outgoingEdges.get(node) ?? [])
      inDegrees.set(target, (inDegrees.get(target) ?? 0) + 1);
  const readyNodes = new StringHeap();
  for (const [node, count] of inDegrees) if (count === 0) readyNodes.push(node);
  const order: string[] = [];
  for (let node = readyNodes.pop(); node !== undefined; node = readyNodes.pop()) {
    order.push(node);
    for (const { target } of outgoingEdges.get(node) ?? []) {
      const inDegree = (inDegrees.get(target) as number) - 1;
      inDegrees.set(target, inDegree);
      if (inDegree === 0) readyNodes.push(target);
    }
  }
  return order;
}
