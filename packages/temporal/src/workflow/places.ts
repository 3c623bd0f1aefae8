import type { Address, Node, Region } from '@heddle/core/machine';
import type { Place } from '@heddle/core/run';

/** The node at an address of odd length. */
export function nodeAt(skeleton: Region, at: Address): Node {
  let region: Region | undefined = skeleton;
  let node: Node | undefined;
  for (let depth = 0; depth < at.length; depth += 2) {
    node = region?.nodes[at[depth] as number];
    region = node?.subflow?.body;
  }
  if (!node) throw new TypeError(`the plan has no node at ${at.join('.')}`);
  return node;
}

/** The block and the turn and branch numbers that an address names, as journal entries have them. */
export function placeOf(skeleton: Region, at: Address): Place {
  return { block: nodeAt(skeleton, at).id, scope: at.filter((_, position) => position % 2 === 1) };
}
