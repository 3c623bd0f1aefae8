import { SimilarNames } from './similar-names.ts';

/** The properties of a block for references. */
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

/** All names that references can use, normalised, and the containers around each block. */
export interface NameTable {
  readonly blocks: ReadonlyMap<string, NamedBlock>;
  readonly blockByName: ReadonlyMap<string, NamedBlock>;
  readonly variableByName: ReadonlyMap<string, NamedVariable>;
  readonly variables: ReadonlyMap<string, NamedVariable>;
  /** Containers around a block, outermost first, by block id. */
  readonly containers: ReadonlyMap<string, readonly NamedBlock[]>;
  /** The names of blocks and variables, for suggestions. */
  readonly blockNameSearch: SimilarNames;
  readonly variableNameSearch: SimilarNames;
}

const RESERVED_NAMES: ReadonlySet<string> = new Set(['loop', 'parallel', 'variable']);

/** Returns the form in which names are compared: lower case, without white space and dots. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[\s.]+/g, '');
}

/** Returns true for a reserved name, which never refers to a block: loop, parallel, variable. */
export function isReserved(name: string): boolean {
  return RESERVED_NAMES.has(normalizeName(name));
}

/**
 * Returns the names of a workflow.
 *
 * If two names are equal when normalised, the first one wins, unless it contains a dot and a later one does not.
 */
export function buildNames(blocks: readonly NamedBlock[], variables: readonly NamedVariable[]): NameTable {
  const blocksById = new Map(blocks.map((block) => [block.id, block]));
  const blockByName = indexByNormalizedName(blocks);
  const variableByName = indexByNormalizedName(variables);
  return {
    blocks: blocksById,
    blockByName,
    variableByName,
    blockNameSearch: new SimilarNames(blockByName.keys()),
    variableNameSearch: new SimilarNames(variableByName.keys()),
    variables: new Map(variables.map((variable) => [variable.id, variable])),
    containers: new Map(blocks.map((block) => [block.id, containersAround(block, blocksById)])),
  };
}

/** Returns the variable with the name `name`, else the variable with that id. */
export function findVariable(names: NameTable, name: string): NamedVariable | undefined {
  return names.variableByName.get(normalizeName(name)) ?? names.variables.get(name);
}

/** Returns true for a block that can never run, because it or a container around it is disabled. */
export function neverRuns(names: NameTable, block: NamedBlock): boolean {
  return !block.enabled || (names.containers.get(block.id) ?? []).some((container) => !container.enabled);
}

/** Returns the block name most similar to an unknown name in a reference, normalised. */
export function suggestBlock(
  names: NameTable,
  unknownName: string,
): { name: string; distance: number } | undefined {
  return names.blockNameSearch.findNearest(normalizeName(unknownName));
}

/** Returns the variable name most similar to an unknown one, normalised. */
export function suggestVariable(
  names: NameTable,
  name: string,
): { name: string; distance: number } | undefined {
  return names.variableNameSearch.findNearest(normalizeName(name));
}

function indexByNormalizedName<T extends { name: string }>(items: readonly T[]): Map<string, T> {
  const table = new Map<string, T>();
  for (const item of items) {
    const key = normalizeName(item.name);
    const existing = table.get(key);
    if (existing === undefined || (existing.name.includes('.') && !item.name.includes('.')))
      table.set(key, item);
  }
  return table;
}

/**
 * Returns the containers around a block, outermost first. A missing or cyclic parent ends the chain; the compiler
 * reports it.
 */
function containersAround(block: NamedBlock, blocksById: ReadonlyMap<string, NamedBlock>): NamedBlock[] {
  const containers: NamedBlock[] = [];
  const seen = new Set([block.id]);
  let parent = block.parentId === undefined ? undefined : blocksById.get(block.parentId);
  while (parent !== undefined && !seen.has(parent.id)) {
    seen.add(parent.id);
    containers.unshift(parent);
    parent = parent.parentId === undefined ? undefined : blocksById.get(parent.parentId);
  }
  return containers;
}
