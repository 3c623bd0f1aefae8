import type { JsonObject } from '@heddle/core';
import { isContainer, objectOrEmpty } from '../containers.ts';
import type { DraftEditor } from './draft-editor.ts';
import { stringOrDefault } from './draft-editor.ts';

const COLUMN_WIDTH = 400;
const ROW_HEIGHT = 200;
/** Space around the blocks in a container. */
const MARGIN = 150;

interface Point {
  x: number;
  y: number;
}

/**
 * Places each of these blocks at a free position: to the right of a block that leads to it, and below existing blocks.
 * Other blocks are not moved; containers grow so that they enclose the new blocks.
 */
export function layoutNewBlocks(editor: DraftEditor, ids: ReadonlySet<string>): void {
  const grids = gridsOf(editor, ids);
  for (const id of ids) {
    const block = editor.find(id);
    const grid = grids.get(editor.parentOf(id));
    if (!block || !grid) continue;
    const point = grid.reserve(preferredPoint(editor, id, grid));
    editor.put(id, { ...block, position: { ...point } });
  }
  const containers = new Set([...ids].flatMap((id) => editor.parentOf(id) ?? []));
  for (const id of containers) growContainer(editor, id, grids.get(id));
}

/** The occupied positions in a container, or at the top level. */
class LayoutGrid {
  readonly #cells = new Set<string>();
  /** The largest coordinates of the occupied positions. */
  readonly maxPoint: Point = { x: -COLUMN_WIDTH, y: 0 };

  occupy(point: Point): void {
    this.#cells.add(cellOf(point));
    this.maxPoint.x = Math.max(this.maxPoint.x, point.x);
    this.maxPoint.y = Math.max(this.maxPoint.y, point.y);
  }

  /** Occupies and returns the first free position at or below `start`. */
  reserve(start: Point): Point {
    const point = { ...start };
    while (this.#cells.has(cellOf(point))) point.y += ROW_HEIGHT;
    this.occupy(point);
    return point;
  }
}

function gridsOf(editor: DraftEditor, excludedIds: ReadonlySet<string>): Map<string | undefined, LayoutGrid> {
  const grids = new Map<string | undefined, LayoutGrid>();
  for (const [id, block] of editor.blocks) {
    const parent = editor.parentOf(id);
    const grid = grids.get(parent) ?? new LayoutGrid();
    grids.set(parent, grid);
    if (!excludedIds.has(id)) grid.occupy(pointOf(block));
  }
  return grids;
}

/** Returns the point to the right of a block that leads to this one. Without one, returns a default point. */
function preferredPoint(editor: DraftEditor, id: string, grid: LayoutGrid): Point {
  const parent = editor.parentOf(id);
  for (const edge of editor.edgesTo(id)) {
    const source = stringOrDefault(edge['source']);
    const block = editor.find(source);
    if (!block) continue;
    if (source === parent) return { x: MARGIN, y: MARGIN };
    const { x, y } = pointOf(block);
    const { width } = objectOrEmpty(block['data']);
    const containerWidth = isContainer(block['type']) && typeof width === 'number' ? width : 0;
    if (editor.parentOf(source) === parent)
      return { x: x + Math.max(COLUMN_WIDTH, containerWidth + MARGIN), y };
  }
  return parent === undefined ? { x: grid.maxPoint.x + COLUMN_WIDTH, y: 0 } : { x: MARGIN, y: MARGIN };
}

function growContainer(editor: DraftEditor, id: string, grid: LayoutGrid | undefined): void {
  const block = editor.find(id);
  if (!block || !grid) return;
  const data = objectOrEmpty(block['data']);
  const sizeAtLeast = (storedSize: unknown, min: number): number =>
    Math.max(typeof storedSize === 'number' ? storedSize : 0, min);
  editor.put(id, {
    ...block,
    data: {
      ...data,
      width: sizeAtLeast(data['width'], grid.maxPoint.x + COLUMN_WIDTH),
      height: sizeAtLeast(data['height'], grid.maxPoint.y + ROW_HEIGHT + MARGIN),
    },
  });
}

function pointOf(block: JsonObject): Point {
  const { x, y } = objectOrEmpty(block['position']);
  return { x: typeof x === 'number' ? x : 0, y: typeof y === 'number' ? y : 0 };
}

function cellOf({ x, y }: Point): string {
  return `${Math.round(x / (COLUMN_WIDTH / 2))} ${Math.round(y / (ROW_HEIGHT / 2))}`;
}
