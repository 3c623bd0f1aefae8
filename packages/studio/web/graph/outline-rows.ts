import type { Graph } from '../api/queries.ts';

type Block = Graph['blocks'][number];

export interface OutlineRow {
  block: Block;
  depth: number;
}

/** Maximum depth of a shown block. A corrupt draft may have containers that contain each other. */
const MAX_DEPTH = 32;

/** Returns the blocks in the order of the outline: each container before the blocks in it. Takes O(blocks). */
export function toOutlineRows(blocks: readonly Block[]): OutlineRow[] {
  const blocksByParentId = Map.groupBy(blocks, ({ parentId }) => parentId ?? '');
  const rows: OutlineRow[] = [];
  const addChildren = (parentId: string, depth: number): void => {
    if (depth > MAX_DEPTH) return;
    for (const block of blocksByParentId.get(parentId) ?? []) {
      rows.push({ block, depth });
      addChildren(block.id, depth + 1);
    }
  };
  addChildren('', 0);
  return rows;
}

/** Returns the index of the row to which a key leads from the row at `index`; undefined if the key has no effect. */
export function targetIndexOf(key: string, index: number, rows: readonly OutlineRow[]): number | undefined {
  const lastIndex = rows.length - 1;
  const indexByKey: { readonly [key: string]: number | undefined } = {
    ArrowDown: Math.min(index + 1, lastIndex),
    ArrowUp: Math.max(index - 1, 0),
    Home: 0,
    End: lastIndex,
    ArrowLeft: parentIndex(index, rows),
    ArrowRight: firstChildIndex(index, rows),
  };
  const targetIndex = indexByKey[key];
  return targetIndex === index || lastIndex < 0 ? undefined : targetIndex;
}

function parentIndex(index: number, rows: readonly OutlineRow[]): number | undefined {
  const parentId = rows[index]?.block.parentId ?? undefined;
  const foundIndex = parentId === undefined ? -1 : rows.findIndex(({ block }) => block.id === parentId);
  return foundIndex < 0 ? undefined : foundIndex;
}

function firstChildIndex(index: number, rows: readonly OutlineRow[]): number | undefined {
  return rows[index + 1]?.block.parentId === rows[index]?.block.id ? index + 1 : undefined;
}
