import { BLOCK_HEIGHT } from './layout.ts';
import type { Box } from './layout.ts';

interface Block {
  id: string;
  name: string;
  type: string;
  enabled: boolean;
  parentId: string | null;
  ports: readonly { id: string; title: string }[];
}

interface Graph {
  blocks: readonly Block[];
  edges: readonly { source: string; target: string; port: string }[];
}

export interface PositionedBlock {
  block: Block;
  /** Position and size within the whole graph. */
  box: Box;
  isContainer: boolean;
}

/** An edge as it is drawn. */
export interface Line {
  id: string;
  source: string;
  target: string;
  isError: boolean;
  path: string;
  label: string | undefined;
  labelPosition: { x: number; y: number };
  /** The bounding box of the line. */
  box: Box;
}

/** The blocks at one depth of nesting, and the lines to these blocks. The lines are drawn below the blocks. */
export interface Layer {
  lines: Line[];
  blocks: PositionedBlock[];
}

/** Returns the layers to draw, the outermost first. Takes O(blocks + edges). */
export function layersOf(graph: Graph, boxes: ReadonlyMap<string, Box>): Layer[] {
  const containerIds = new Set(graph.blocks.map(({ parentId }) => parentId));
  const layers: Layer[] = [];
  const layerAt = (depth: number): Layer => {
    while (layers.length <= depth) layers.push({ lines: [], blocks: [] });
    return layers[depth] as Layer;
  };
  const depthById = new Map<string, number>();
  const blockById = new Map(graph.blocks.map((block) => [block.id, block]));
  // In the order of `boxes`, a container comes before its blocks.
  for (const [id, box] of boxes) {
    const block = blockById.get(id);
    if (!block) continue;
    const depth = 1 + (depthById.get(block.parentId ?? '') ?? -1);
    depthById.set(id, depth);
    layerAt(depth).blocks.push({ block, box, isContainer: containerIds.has(id) });
  }
  for (const line of linesOf(graph, boxes, containerIds))
    layerAt(Math.max(depthById.get(line.source) ?? 0, depthById.get(line.target) ?? 0)).lines.push(line);
  return layers;
}

function linesOf(
  graph: Graph,
  boxes: ReadonlyMap<string, Box>,
  containerIds: ReadonlySet<string | null>,
): Line[] {
  const parentIdById = new Map(graph.blocks.map(({ id, parentId }) => [id, parentId]));
  const titleByPortId = new Map(
    graph.blocks.flatMap(({ ports }) => ports.map(({ id, title }) => [id, title] as const)),
  );
  return graph.edges.flatMap(({ source, target, port }, index) => {
    const [sourceBox, targetBox] = [boxes.get(source), boxes.get(target)];
    // A container surrounds its first block, so no line leads to it.
    if (!sourceBox || !targetBox || parentIdById.get(target) === source) return [];
    const label = port === 'error' ? 'error' : titleByPortId.get(port);
    return {
      id: `${index}`,
      source,
      target,
      isError: port === 'error',
      label: label === '' ? undefined : label,
      ...curveBetween(
        { x: sourceBox.x + sourceBox.width, y: portY(sourceBox, containerIds.has(source)) },
        { x: targetBox.x, y: portY(targetBox, containerIds.has(target)) },
      ),
    };
  });
}

/** Returns the y coordinate at which lines meet a block: for a container, the middle of its title. */
function portY({ y, height }: Box, isContainer: boolean): number {
  return y + (isContainer ? BLOCK_HEIGHT : height) / 2;
}

type Point = Pick<Box, 'x' | 'y'>;

/** Returns a curve that leaves a block to the right and arrives at the next one from the left. */
function curveBetween(start: Point, end: Point): Pick<Line, 'path' | 'labelPosition' | 'box'> {
  const distance = end.x - start.x;
  const controlDistance = distance >= 0 ? distance / 2 : 6.25 * Math.sqrt(-distance);
  const [firstControlX, secondControlX] = [start.x + controlDistance, end.x - controlDistance];
  const xs = [start.x, firstControlX, secondControlX, end.x];
  const [left, top] = [Math.min(...xs), Math.min(start.y, end.y)];
  return {
    path: `M${start.x},${start.y} C${firstControlX},${start.y} ${secondControlX},${end.y} ${end.x},${end.y}`,
    // The middle of the curve.
    labelPosition: {
      x: (start.x + 3 * firstControlX + 3 * secondControlX + end.x) / 8,
      y: (start.y + end.y) / 2,
    },
    box: { x: left, y: top, width: Math.max(...xs) - left, height: Math.abs(end.y - start.y) },
  };
}

/** Minimum number of grid steps along the longer side of the view (`boxToMount`). */
const MIN_STEPS = 8;

/** A view of the graph: the translation and zoom of the graph, and the size of its element. */
export interface View {
  transform: readonly [x: number, y: number, zoom: number];
  width: number;
  height: number;
}

/**
 * Returns the part of the graph to mount: the view, extended to the lines of a grid. It stays the same while the view
 * moves within a step of the grid, so that most animation frames of a movement change no element.
 */
export function boxToMount({ transform: [x, y, zoom], width, height }: View): Box {
  const step = 2 ** Math.floor(Math.log2(Math.max(width, height, 1) / zoom / MIN_STEPS));
  const gridStartOf = (offset: number): number => Math.floor(-offset / zoom / step) * step;
  const gridLengthOf = (side: number): number => (Math.ceil(side / zoom / step) + 1) * step;
  return { x: gridStartOf(x), y: gridStartOf(y), width: gridLengthOf(width), height: gridLengthOf(height) };
}

/** True if two boxes have a point in common. */
export function boxesOverlap(a: Box, b: Box): boolean {
  return a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height;
}
