import { NearNames } from './nearest.ts';

/** A block as far as references go. */
export interface NamedBlock {
  id: string;
  name: string;
  type: string;
  parentId?: string;
  enabled: boolean;
}

export interface NamedVariable {
  id: string;
  name: string;
}

/** Everything a reference can name, by normalised name, and what lies around each block. */
export interface NameTable {
  readonly blocks: ReadonlyMap<string, NamedBlock>;
  readonly blockByName: ReadonlyMap<string, NamedBlock>;
  readonly variableByName: ReadonlyMap<string, NamedVariable>;
  readonly variables: ReadonlyMap<string, NamedVariable>;
  /** Containers around a block, outermost first, by the block's id. */
  readonly around: ReadonlyMap<string, readonly NamedBlock[]>;
  /** The names of blocks and variables, for suggestions. */
  readonly nearBlocks: NearNames;
  readonly nearVariables: NearNames;
}

const RESERVED: ReadonlySet<string> = new Set(['loop', 'parallel', 'variable']);

/** The form names are compared in: lower case, no white space, no dots. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[\s.]+/g, '');
}

/** True for a head that names no block whatever blocks are called: loop, parallel, variable. */
export function isReserved(name: string): boolean {
  return RESERVED.has(normalizeName(name));
}

/**
 * The table of names of a workflow.
 *
 * Of two names that are equal when normalised, the first keeps the key, unless only the other one has no dot.
 */
export function buildNames(blocks: readonly NamedBlock[], variables: readonly NamedVariable[]): NameTable {
  const byId = new Map(blocks.map((block) => [block.id, block]));
  const blockByName = byNormalizedName(blocks);
  const variableByName = byNormalizedName(variables);
  return {
    blocks: byId,
    blockByName,
    variableByName,
    nearBlocks: new NearNames(blockByName.keys()),
    nearVariables: new NearNames(variableByName.keys()),
    variables: new Map(variables.map((variable) => [variable.id, variable])),
    around: new Map(blocks.map((block) => [block.id, containersAround(block, byId)])),
  };
}

/** The variable called `name`, or with that very id; a name wins over an id. */
export function findVariable(names: NameTable, name: string): NamedVariable | undefined {
  return names.variableByName.get(normalizeName(name)) ?? names.variables.get(name);
}

/** True for a block that can never run: it, or a container around it, is disabled. */
export function neverRuns(names: NameTable, block: NamedBlock): boolean {
  return !block.enabled || (names.around.get(block.id) ?? []).some((container) => !container.enabled);
}

/** The block's name nearest to a head that names none, normalised. */
export function suggestBlock(names: NameTable, head: string): { name: string; distance: number } | undefined {
  return names.nearBlocks.nearest(normalizeName(head));
}

/** The variable's name nearest to one that names none, normalised. */
export function suggestVariable(
  names: NameTable,
  name: string,
): { name: string; distance: number } | undefined {
  return names.nearVariables.nearest(normalizeName(name));
}

function byNormalizedName<T extends { name: string }>(named: readonly T[]): Map<string, T> {
  const table = new Map<string, T>();
  for (const one of named) {
    const key = normalizeName(one.name);
    const holder = table.get(key);
    if (holder === undefined || (holder.name.includes('.') && !one.name.includes('.'))) table.set(key, one);
  }
  return table;
}

/** A parent that is missing or leads in a circle ends the chain: the compiler reports those. */
function containersAround(block: NamedBlock, byId: ReadonlyMap<string, NamedBlock>): NamedBlock[] {
  const around: NamedBlock[] = [];
  const seen = new Set([block.id]);
  let parent = block.parentId === undefined ? undefined : byId.get(block.parentId);
  while (parent !== undefined && !seen.has(parent.id)) {
    seen.add(parent.id);
    around.unshift(parent);
    parent = parent.parentId === undefined ? undefined : byId.get(parent.parentId);
  }
  return around;
}
