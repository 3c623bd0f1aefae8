import { parse } from '@humanwhocodes/momoa';
import type { AnyNode } from '@humanwhocodes/momoa';

/** A position in a file, counted from 1. */
export interface Position {
  line: number;
  column: number;
}

type Path = readonly (string | number)[];

/** Paths at which the graph may be in a file. Paths of diagnostics are relative to the graph. */
const ROOTS: readonly Path[] = [[], ['state'], ['data'], ['data', 'state']];

/**
 * Returns a function that finds the position of a value in a workflow's text by its path from the graph. For a missing
 * value it returns the position of the nearest enclosing value. The text must be JSON.
 */
export function createLocator(text: string): (path: Path) => Position | undefined {
  const { body } = parse(text.replace(/^\uFEFF/, ''));
  const root = ROOTS.map((path) => walk(body, path)).find(
    ({ missingStepCount, node }) => missingStepCount === 0 && childOf(node, 'blocks') !== undefined,
  );
  return (path) => {
    const node = walk(root?.node ?? body, path).node;
    return node.loc && { line: node.loc.start.line, column: node.loc.start.column };
  };
}

/** Follows a path as far as it exists. `missingStepCount`: the number of steps that do not exist. */
function walk(start: AnyNode, path: Path): { node: AnyNode; missingStepCount: number } {
  let node = start;
  for (const [index, key] of path.entries()) {
    const next = childOf(node, key);
    if (!next) return { node, missingStepCount: path.length - index };
    node = next;
  }
  return { node, missingStepCount: 0 };
}

function childOf(node: AnyNode, key: string | number): AnyNode | undefined {
  if (node.type === 'Array' && typeof key === 'number') return node.elements[key]?.value;
  if (node.type !== 'Object') return undefined;
  // Of duplicate keys, the last one is used.
  return node.members.findLast(
    ({ name }) => (name.type === 'String' ? name.value : name.name) === String(key),
  )?.value;
}
