import { diagnostic } from '../plan/codes.ts';
import type { Diagnostic } from '../plan/diagnostic.ts';
import type { Block, StoredContainer } from '../schema/workflow.ts';

/**
 * Containers of blocks that name none, from the stored maps, and only for containers that no block names.
 *
 * A block that two stored entries list belongs to the inner one. Disagreement between a map and the blocks is reported.
 */
export function storedParents(
  stored: readonly StoredContainer[],
  blocks: ReadonlyMap<string, Block>,
  found: Diagnostic[],
): Map<string, string> {
  const named = new Map<string, Set<string>>();
  for (const { id, parentId } of blocks.values()) {
    if (parentId === undefined) continue;
    const children = named.get(parentId);
    if (children) children.add(id);
    else named.set(parentId, new Set([id]));
  }
  const parents = new Map<string, string>();
  const lists = new Map(stored.map((each) => [each.id, new Set(each.nodes)]));
  for (const entry of stored) {
    const block = blocks.get(entry.id);
    const children = named.get(entry.id);
    if (block?.type !== entry.kind) {
      if (entry.nodes.some((id) => blocks.has(id))) found.push(orphan(entry));
    } else if (children) {
      const extra = entry.nodes.filter((id) => blocks.has(id) && !children.has(id) && !isInside(blocks, id, entry.id));
      const lost = [...children].filter((id) => !entry.nodes.includes(id));
      if (extra.length + lost.length > 0) found.push(differs(entry, block, [...extra, ...lost]));
    } else {
      const adopted = entry.nodes.filter((id) => blocks.has(id) && blocks.get(id)?.parentId === undefined && id !== entry.id);
      for (const id of adopted) {
        const other = parents.get(id);
        // The inner one of two is the one that the other lists.
        if (other === undefined || lists.get(other)?.has(entry.id)) parents.set(id, entry.id);
      }
      if (adopted.length > 0) found.push(used(entry, block));
    }
  }
  return parents;
}

/** True when a block stands in the container at any depth: older maps list deep children in every container around them. */
function isInside(blocks: ReadonlyMap<string, Block>, id: string, container: string): boolean {
  const seen = new Set<string>();
  let up = blocks.get(id)?.parentId;
  while (up !== undefined && up !== container && !seen.has(up)) {
    seen.add(up);
    up = blocks.get(up)?.parentId;
  }
  return up === container;
}

const mapOf = (entry: StoredContainer): string[] => [entry.kind === 'loop' ? 'loops' : 'parallels', entry.id];

function orphan(entry: StoredContainer): Diagnostic {
  return diagnostic('CONTAINER_MAP_DIFFERS', {
    path: mapOf(entry),
    message: `The stored map has a ${entry.kind} "${entry.id}", but no ${entry.kind} block has this id; the entry is ignored.`,
    hint: 'Remove the entry, or add the block.',
  });
}

function differs(entry: StoredContainer, block: Block, ids: readonly string[]): Diagnostic {
  return diagnostic('CONTAINER_MAP_DIFFERS', {
    blockId: block.id,
    path: [...mapOf(entry), 'nodes'],
    message: `The stored map and the blocks disagree about what stands in "${block.name}": ${ids.join(', ')}. The blocks count.`,
    hint: 'Remove the stored map: it is derived from the blocks.',
  });
}

function used(entry: StoredContainer, block: Block): Diagnostic {
  return diagnostic('CONTAINER_MAP_USED', {
    blockId: block.id,
    path: [...mapOf(entry), 'nodes'],
    message: `No block names "${block.name}" as its container; what the stored map lists counts.`,
    hint: 'Set parentId on the blocks inside.',
  });
}
