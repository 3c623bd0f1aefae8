import dagre from '@dagrejs/dagre';

interface Block {
  id: string;
  parentId: string | null;
  position: { x: number; y: number } | null;
}

/** The parts of a graph that determine its layout. */
export interface LayoutGraph {
  blocks: readonly Block[];
  edges: readonly { source: string; target: string }[];
}

/** The place of a block relative to its container. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const BLOCK_WIDTH = 172;
export const BLOCK_HEIGHT = 56;
/** Space for the title of a container, and around the blocks in it. */
const TITLE = 44;
const PADDING = 20;
const GAP = 40;
/** Maximum number of blocks of a container that are placed with few crossings, which takes more than linear time. */
const MOST_DRAWN = 500;

/** Maximum numbers of blocks for a layout within about 20 ms: those drawn with few crossings, and all. */
const MOST_QUICK = { drawn: 60, all: 2500 };

/** True if the layout of a graph takes longer than the start of a worker. */
export function isSlowToPlace({ blocks }: LayoutGraph): boolean {
  if (blocks.length > MOST_QUICK.all) return true;
  const inside = Map.groupBy(blocks, ({ parentId }) => parentId ?? '');
  const drawnBlocks = [...inside.values()].filter((each) => each.length <= MOST_DRAWN && !arePlaced(each));
  return drawnBlocks.flat().length > MOST_QUICK.drawn;
}

/**
 * Returns the places of all blocks: where the editor has put them, else in columns from left to right. Containers are as large as
 * their blocks need.
 */
export function placesOf(graph: LayoutGraph): Map<string, Box> {
  const inside = Map.groupBy(graph.blocks, ({ parentId }) => parentId ?? '');
  const ids = new Set(graph.blocks.map(({ id }) => id));
  const places = new Map<string, Box>();
  const done = new Set<string>();
  const place = (containerId: string): void => {
    // A corrupt draft may have containers that contain each other.
    if (done.has(containerId)) return;
    done.add(containerId);
    const blocks = inside.get(containerId) ?? [];
    for (const { id } of blocks) if (inside.has(id)) place(id);
    const sizes = new Map(blocks.map((block) => [block.id, sizeOf(inside.get(block.id) ?? [], places)]));
    const origin = containerId === '' ? { x: 0, y: 0 } : { x: PADDING, y: TITLE + PADDING };
    const positions = arePlaced(blocks)
      ? stored(blocks)
      : blocks.length > MOST_DRAWN
        ? inColumns(graph, blocks, sizes)
        : drawn(graph, blocks, sizes);
    shift(positions, origin);
    for (const { id } of blocks) {
      const at = positions.get(id) ?? origin;
      places.set(id, { ...at, ...(sizes.get(id) ?? { width: BLOCK_WIDTH, height: BLOCK_HEIGHT }) });
    }
  };
  for (const containerId of ['', ...[...inside.keys()].filter((id) => id !== '' && !ids.has(id))])
    place(containerId);
  return places;
}

function sizeOf(children: readonly Block[], places: ReadonlyMap<string, Box>) {
  if (children.length === 0) return { width: BLOCK_WIDTH, height: BLOCK_HEIGHT };
  const boxes = children.flatMap(({ id }) => places.get(id) ?? []);
  return {
    width: Math.max(BLOCK_WIDTH, ...boxes.map(({ x, width }) => x + width)) + PADDING,
    height: Math.max(BLOCK_HEIGHT, ...boxes.map(({ y, height }) => y + height)) + PADDING,
  };
}

type Positions = Map<string, { x: number; y: number }>;

/** False for blocks without places, and for blocks of a file that no editor has written, which are all at one place. */
function arePlaced(blocks: readonly Block[]): boolean {
  const places = new Set(blocks.map(({ position }) => position && `${position.x} ${position.y}`));
  return places.size === blocks.length && !places.has(null);
}

function stored(blocks: readonly Block[]): Positions {
  return new Map(blocks.flatMap(({ id, position }) => (position ? [[id, { ...position }]] : [])));
}

function drawn(
  graph: LayoutGraph,
  blocks: readonly Block[],
  sizes: ReadonlyMap<string, { width: number; height: number }>,
): Positions {
  const layout = new dagre.graphlib.Graph();
  layout.setGraph({ rankdir: 'LR', ranksep: GAP, nodesep: PADDING });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const { id } of blocks) layout.setNode(id, { ...sizes.get(id) });
  for (const { source, target } of graph.edges)
    if (sizes.has(source) && sizes.has(target) && source !== target) layout.setEdge(source, target);
  dagre.layout(layout);
  return new Map(
    blocks.map(({ id }) => {
      const { x, y, width, height } = layout.node(id);
      return [id, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
}

/** Returns places in columns: each block is one column after the last of those before it. Takes O(blocks + edges). */
function inColumns(
  graph: LayoutGraph,
  blocks: readonly Block[],
  sizes: ReadonlyMap<string, { width: number; height: number }>,
): Positions {
  const edges = graph.edges.filter(({ source, target }) => sizes.has(source) && sizes.has(target));
  const following = Map.groupBy(edges, ({ source }) => source);
  const waiting = new Map(blocks.map(({ id }) => [id, 0]));
  for (const { target } of edges) waiting.set(target, (waiting.get(target) ?? 0) + 1);
  const columns = new Map(blocks.map(({ id }) => [id, 0]));
  const ready = blocks.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id);
  // Blocks of a cycle, which only a corrupt draft has, remain in the column that they have reached.
  for (const id of ready)
    for (const { target } of following.get(id) ?? []) {
      columns.set(target, Math.max(columns.get(target) ?? 0, (columns.get(id) ?? 0) + 1));
      const left = (waiting.get(target) ?? 0) - 1;
      waiting.set(target, left);
      if (left === 0) ready.push(target);
    }
  return stacked(
    Map.groupBy(blocks, ({ id }) => columns.get(id) ?? 0),
    sizes,
  );
}

function stacked(
  columns: ReadonlyMap<number, readonly Block[]>,
  sizes: ReadonlyMap<string, { width: number; height: number }>,
): Positions {
  const positions: Positions = new Map();
  let x = 0;
  for (const [, column] of [...columns].toSorted(([a], [b]) => a - b)) {
    let y = 0;
    let widest = 0;
    for (const { id } of column) {
      const { width = BLOCK_WIDTH, height = BLOCK_HEIGHT } = sizes.get(id) ?? {};
      positions.set(id, { x, y });
      y += height + PADDING;
      widest = Math.max(widest, width);
    }
    x += widest + GAP;
  }
  return positions;
}

/** Moves the blocks so that the first one is at the origin. */
function shift(positions: Positions, origin: { x: number; y: number }): void {
  const least = { x: Infinity, y: Infinity };
  for (const { x, y } of positions.values()) {
    least.x = Math.min(least.x, x);
    least.y = Math.min(least.y, y);
  }
  const dx = origin.x - least.x;
  const dy = origin.y - least.y;
  for (const [id, { x, y }] of positions) positions.set(id, { x: x + dx, y: y + dy });
}

/** Returns the places within the whole graph, each container before the blocks in it. */
export function absolutePlaces(blocks: readonly Block[], places: ReadonlyMap<string, Box>): Map<string, Box> {
  const inside = Map.groupBy(blocks, ({ parentId }) =>
    parentId !== null && places.has(parentId) ? parentId : '',
  );
  const found = new Map<string, Box>();
  const add = (parentId: string, at: { x: number; y: number }): void => {
    for (const { id } of inside.get(parentId) ?? []) {
      const box = places.get(id);
      if (!box || found.has(id)) continue;
      const here = { ...box, x: box.x + at.x, y: box.y + at.y };
      found.set(id, here);
      add(id, here);
    }
  };
  add('', { x: 0, y: 0 });
  return found;
}

/** Returns the smallest box that contains the boxes. */
export function boundsOf(boxes: Iterable<Box>): Box {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of boxes) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
  }
  return left > right
    ? { x: 0, y: 0, width: BLOCK_WIDTH, height: BLOCK_HEIGHT }
    : { x: left, y: top, width: right - left, height: bottom - top };
}
