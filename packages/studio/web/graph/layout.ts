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

/** Position and size of a block: relative to its container, or in coordinates of the whole graph. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const BLOCK_WIDTH = 172;
export const BLOCK_HEIGHT = 56;
/** Space for the title of a container, and around the blocks in it. */
const TITLE_HEIGHT = 44;
const PADDING = 20;
const GAP = 40;
/**
 * Maximum number of blocks of a container that dagre lays out. Dagre avoids crossings of edges, but takes more than
 * linear time.
 */
const MAX_DAGRE_BLOCKS = 500;

/** Maximum numbers of blocks for a layout within about 20 ms. `dagre`: those that dagre lays out; `all`: all blocks. */
const MAX_QUICK_BLOCKS = { dagre: 60, all: 2500 };

/** True if the layout of a graph probably takes longer than the start of a worker. */
export function needsLayoutWorker({ blocks }: LayoutGraph): boolean {
  if (blocks.length > MAX_QUICK_BLOCKS.all) return true;
  const blocksByParentId = Map.groupBy(blocks, ({ parentId }) => parentId ?? '');
  const dagreGroups = [...blocksByParentId.values()].filter(
    (group) => group.length <= MAX_DAGRE_BLOCKS && !haveStoredPositions(group),
  );
  return dagreGroups.flat().length > MAX_QUICK_BLOCKS.dagre;
}

/**
 * Returns the boxes of all blocks, relative to their containers: where the editor has put them, otherwise along the
 * edges from left to right.
 * Containers are as large as their blocks need.
 */
export function layoutGraph(graph: LayoutGraph): Map<string, Box> {
  const blocksByParentId = Map.groupBy(graph.blocks, ({ parentId }) => parentId ?? '');
  const ids = new Set(graph.blocks.map(({ id }) => id));
  const relativeBoxes = new Map<string, Box>();
  const visited = new Set<string>();
  const layoutContainer = (containerId: string): void => {
    // A corrupt draft may have containers that contain each other.
    if (visited.has(containerId)) return;
    visited.add(containerId);
    const blocks = blocksByParentId.get(containerId) ?? [];
    for (const { id } of blocks) if (blocksByParentId.has(id)) layoutContainer(id);
    const sizes = new Map(
      blocks.map((block) => [block.id, sizeOf(blocksByParentId.get(block.id) ?? [], relativeBoxes)]),
    );
    const origin = containerId === '' ? { x: 0, y: 0 } : { x: PADDING, y: TITLE_HEIGHT + PADDING };
    const positions = haveStoredPositions(blocks)
      ? storedPositions(blocks)
      : blocks.length > MAX_DAGRE_BLOCKS
        ? columnPositions(graph, blocks, sizes)
        : dagrePositions(graph, blocks, sizes);
    shift(positions, origin);
    for (const { id } of blocks) {
      const position = positions.get(id) ?? origin;
      const size = sizes.get(id) ?? { width: BLOCK_WIDTH, height: BLOCK_HEIGHT };
      relativeBoxes.set(id, { ...position, ...size });
    }
  };
  for (const containerId of ['', ...[...blocksByParentId.keys()].filter((id) => id !== '' && !ids.has(id))])
    layoutContainer(containerId);
  return relativeBoxes;
}

function sizeOf(children: readonly Block[], relativeBoxes: ReadonlyMap<string, Box>) {
  if (children.length === 0) return { width: BLOCK_WIDTH, height: BLOCK_HEIGHT };
  const boxes = children.flatMap(({ id }) => relativeBoxes.get(id) ?? []);
  return {
    width: Math.max(BLOCK_WIDTH, ...boxes.map(({ x, width }) => x + width)) + PADDING,
    height: Math.max(BLOCK_HEIGHT, ...boxes.map(({ y, height }) => y + height)) + PADDING,
  };
}

type Positions = Map<string, { x: number; y: number }>;

/** True if all blocks have different stored positions. In hand-written files, all may have the same position. */
function haveStoredPositions(blocks: readonly Block[]): boolean {
  const positionKeys = new Set(blocks.map(({ position }) => position && `${position.x} ${position.y}`));
  return positionKeys.size === blocks.length && !positionKeys.has(null);
}

function storedPositions(blocks: readonly Block[]): Positions {
  return new Map(blocks.flatMap(({ id, position }) => (position ? [[id, { ...position }]] : [])));
}

function dagrePositions(
  graph: LayoutGraph,
  blocks: readonly Block[],
  sizes: ReadonlyMap<string, { width: number; height: number }>,
): Positions {
  const dagreGraph = new dagre.graphlib.Graph();
  dagreGraph.setGraph({ rankdir: 'LR', ranksep: GAP, nodesep: PADDING });
  dagreGraph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of blocks) dagreGraph.setNode(id, { ...sizes.get(id) });
  for (const { source, target } of graph.edges)
    if (sizes.has(source) && sizes.has(target) && source !== target) dagreGraph.setEdge(source, target);
  dagre.layout(dagreGraph);
  return new Map(
    blocks.map(({ id }) => {
      const { x, y, width, height } = dagreGraph.node(id);
      return [id, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
}

/** Returns positions in columns: each block is in the column after its last predecessor. Takes O(blocks + edges). */
function columnPositions(
  graph: LayoutGraph,
  blocks: readonly Block[],
  sizes: ReadonlyMap<string, { width: number; height: number }>,
): Positions {
  const edges = graph.edges.filter(({ source, target }) => sizes.has(source) && sizes.has(target));
  const edgesBySource = Map.groupBy(edges, ({ source }) => source);
  const inDegrees = new Map(blocks.map(({ id }) => [id, 0]));
  for (const { target } of edges) inDegrees.set(target, (inDegrees.get(target) ?? 0) + 1);
  const columnById = new Map(blocks.map(({ id }) => [id, 0]));
  const queue = blocks.filter(({ id }) => inDegrees.get(id) === 0).map(({ id }) => id);
  // Blocks of a cycle, which only a corrupt draft has, remain in the column that they have reached.
  for (const id of queue)
    for (const { target } of edgesBySource.get(id) ?? []) {
      columnById.set(target, Math.max(columnById.get(target) ?? 0, (columnById.get(id) ?? 0) + 1));
      const inDegree = (inDegrees.get(target) ?? 0) - 1;
      inDegrees.set(target, inDegree);
      if (inDegree === 0) queue.push(target);
    }
  return stackColumns(
    Map.groupBy(blocks, ({ id }) => columnById.get(id) ?? 0),
    sizes,
  );
}

function stackColumns(
  columns: ReadonlyMap<number, readonly Block[]>,
  sizes: ReadonlyMap<string, { width: number; height: number }>,
): Positions {
  const positions: Positions = new Map();
  let x = 0;
  for (const [, column] of [...columns].toSorted(([a], [b]) => a - b)) {
    let y = 0;
    let columnWidth = 0;
    for (const { id } of column) {
      const { width = BLOCK_WIDTH, height = BLOCK_HEIGHT } = sizes.get(id) ?? {};
      positions.set(id, { x, y });
      y += height + PADDING;
      columnWidth = Math.max(columnWidth, width);
    }
    x += columnWidth + GAP;
  }
  return positions;
}

/** Moves the blocks so that the top left corner of their bounding box is at the origin. */
function shift(positions: Positions, origin: { x: number; y: number }): void {
  const min = { x: Infinity, y: Infinity };
  for (const { x, y } of positions.values()) {
    min.x = Math.min(min.x, x);
    min.y = Math.min(min.y, y);
  }
  const dx = origin.x - min.x;
  const dy = origin.y - min.y;
  for (const [id, { x, y }] of positions) positions.set(id, { x: x + dx, y: y + dy });
}

/** Returns the boxes in coordinates of the whole graph, each container before the blocks in it. */
export function toAbsoluteBoxes(
  blocks: readonly Block[],
  relativeBoxes: ReadonlyMap<string, Box>,
): Map<string, Box> {
  const blocksByParentId = Map.groupBy(blocks, ({ parentId }) =>
    parentId !== null && relativeBoxes.has(parentId) ? parentId : '',
  );
  const absoluteBoxes = new Map<string, Box>();
  const addChildren = (parentId: string, offset: { x: number; y: number }): void => {
    for (const { id } of blocksByParentId.get(parentId) ?? []) {
      const box = relativeBoxes.get(id);
      if (!box || absoluteBoxes.has(id)) continue;
      const absoluteBox = { ...box, x: box.x + offset.x, y: box.y + offset.y };
      absoluteBoxes.set(id, absoluteBox);
      addChildren(id, absoluteBox);
    }
  };
  addChildren('', { x: 0, y: 0 });
  return absoluteBoxes;
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
