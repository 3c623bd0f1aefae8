import type { Node, Region, Subflow } from '../../packages/core/src/machine/index.ts';

/** Settings of a node in a test, besides its edges. */
export type NodeSettings = Partial<Omit<Node, 'id' | 'ins' | 'outs' | 'handlesError'>>;

interface Edge {
  from: string;
  port: string;
  to: string;
}

/**
 * Returns the region described by `parts`.
 *
 * A string is a node (`a`), an edge (`a -> b`), a chain (`a -> b -> c`) or a fan-out (`a -> b, c`); `a:error -> b`
 * names a port. An object has settings of nodes, by id: `{ a: { timeoutMs: 5 }, L: loop(region('x'), { count: 2 }) }`.
 * Out-edges and entries are in the order of the strings. As in a plan, the nodes are in topological order, ties by id.
 */
export function region(...parts: (string | Record<string, NodeSettings>)[]): Region {
  const settings: Record<string, NodeSettings> = {};
  const ids = new Set<string>();
  const edges: Edge[] = [];
  for (const part of parts) {
    if (typeof part === 'string') addNodesAndEdges(part, ids, edges);
    else Object.assign(settings, part);
  }
  for (const id of Object.keys(settings)) ids.add(id);
  const order = topologicalOrder([...ids], edges);
  const indices = new Map(order.map((id, index) => [id, index]));
  const indexOf = (id: string): number => indices.get(id) as number;
  return {
    nodes: order.map((id) => ({
      id,
      kind: 'block',
      class: 'compute',
      ...settings[id],
      ins: edges.filter(({ to }) => to === id).map(({ from, port }) => ({ from: indexOf(from), port })),
      outs: [...new Set(edges.filter(({ from }) => from === id).map(({ to }) => indexOf(to)))],
      handlesError: edges.some(({ from, port }) => from === id && port === 'error'),
    })),
    entries: [...ids].filter((id) => !edges.some(({ to }) => to === id)).map(indexOf),
  };
}

/** Returns the settings of a loop over `body`. */
export function loop(body: Region, settings: Partial<Subflow> = {}): NodeSettings {
  return { kind: 'loop', subflow: { body, limit: 1_000_000, ...settings } };
}

/** Returns the settings of a parallel over `body`. Without `window` all branches open at the same time. */
export function parallel(body: Region, settings: Partial<Subflow> = {}): NodeSettings {
  return { kind: 'parallel', subflow: { body, limit: 1_000_000, ...settings } };
}

/**
 * Returns the address of `name`: `L/0/x` is node x in iteration 0 of L, `L/0` is this iteration, and the empty string
 * is the run.
 */
export function addressOf(topRegion: Region, name: string): number[] {
  const address: number[] = [];
  let region = topRegion;
  for (const [depth, part] of name === '' ? [] : name.split('/').entries()) {
    if (depth % 2 === 1) address.push(Number(part));
    else {
      const index = region.nodes.findIndex(({ id }) => id === part);
      if (index < 0) throw new Error(`${name}: the region has no node ${part}.`);
      address.push(index);
      region = region.nodes[index]?.subflow?.body ?? region;
    }
  }
  return address;
}

/** Returns the name of `address`, in the form that `addressOf` takes. */
export function nameOf(topRegion: Region, address: readonly number[]): string {
  let region = topRegion;
  const name = address.map((part, depth) => {
    if (depth % 2 === 1) return part;
    const node = region.nodes[part] as Node;
    region = node.subflow?.body ?? region;
    return node.id;
  });
  return name.join('/');
}

function addNodesAndEdges(text: string, ids: Set<string>, edges: Edge[]): void {
  const groups = text.split('->').map((group) => group.split(',').map((name) => name.trim()));
  groups.forEach((group, index) => {
    for (const name of group) ids.add(name.split(':')[0] as string);
    for (const source of index === 0 ? [] : (groups[index - 1] as string[])) {
      const [from = '', port = 'source'] = source.split(':');
      for (const target of group) edges.push({ from, port, to: target.split(':')[0] as string });
    }
  });
}

/** Returns the ids in topological order (Kahn's algorithm), ties by id. */
function topologicalOrder(ids: string[], edges: readonly Edge[]): string[] {
  const indegrees = new Map(ids.map((id) => [id, edges.filter(({ to }) => to === id).length]));
  const order: string[] = [];
  while (indegrees.size > 0) {
    const nextId = [...indegrees]
      .filter(([, indegree]) => indegree === 0)
      .map(([id]) => id)
      .sort()[0];
    if (nextId === undefined) throw new Error('The edges form a cycle.');
    indegrees.delete(nextId);
    order.push(nextId);
    for (const { from, to } of edges) if (from === nextId) indegrees.set(to, (indegrees.get(to) ?? 0) - 1);
  }
  return order;
}
