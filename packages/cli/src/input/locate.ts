import { parse } from '@humanwhocodes/momoa';
import type { AnyNode } from '@humanwhocodes/momoa';

/** A place in a file, counted from 1 as editors do. */
export interface Position {
  line: number;
  column: number;
}

type Path = readonly (string | number)[];

/** Where the graph may stand in a file; paths of diagnostics start there. */
const ROOTS: readonly Path[] = [[], ['state'], ['data'], ['data', 'state']];

/**
 * Finds places of a workflow's text by their path from the workflow state; the nearest thing around it that is there
 * stands for what is missing. The text must be JSON.
 */
export function locator(text: string): (path: Path) => Position | undefined {
  const { body } = parse(text.replace(/^\uFEFF/, ''));
  const root = ROOTS.map((path) => walk(body, path)).find(
    ({ left, node }) => left === 0 && step(node, 'blocks') !== undefined,
  );
  return (path) => {
    const node = walk(root?.node ?? body, path).node;
    return node.loc && { line: node.loc.start.line, column: node.loc.start.column };
  };
}

/** As far down as the path leads, and how many steps were left. */
function walk(from: AnyNode, path: Path): { node: AnyNode; left: number } {
  let node = from;
  for (const [index, key] of path.entries()) {
    const next = step(node, key);
    if (!next) return { node, left: path.length - index };
    node = next;
  }
  return { node, left: 0 };
}

function step(node: AnyNode, key: string | number): AnyNode | undefined {
  if (node.type === 'Array' && typeof key === 'number') return node.elements[key]?.value;
  if (node.type !== 'Object') return undefined;
  // The last of equal keys is the one that counts.
  return node.members.findLast(
    ({ name }) => (name.type === 'String' ? name.value : name.name) === String(key),
  )?.value;
}
