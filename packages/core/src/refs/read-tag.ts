import type { Tag } from './grammar.ts';
import { findVariable, type NamedBlock, type NameTable, normalizeName } from './names.ts';
import { parsePath, parseSegment } from './path.ts';
import type { ContainerField, PathStep, Reference } from './template.ts';

/** The position of a field, which determines the meaning of its references. */
export interface TemplateContext {
  names: NameTable;
  /** Id of the block with the field. */
  blockId: string;
  /**
   * `container`: the collection or count of a container, which sees the containers around it but not its own index and
   * items. `condition`: a container's while or doWhile condition, which also sees its own index. `ordinary`: any other
   * field.
   */
  fieldPosition: 'ordinary' | 'container' | 'condition';
}

/** The meaning of a tag for the block with it. `block`: the block that it names, if any. */
export type TagMeaning =
  | { kind: 'reference'; ref: Reference; block?: NamedBlock }
  | { kind: 'unknown-block' }
  | { kind: 'unknown-variable'; name: string }
  | { kind: 'text' };

type ContainerKind = 'loop' | 'parallel';

const CONTAINER_FIELDS: Record<ContainerKind, ReadonlyMap<string, ContainerField>> = {
  loop: new Map([
    ['index', 'index'],
    ['iteration', 'index'],
    ['currentItem', 'currentItem'],
    ['item', 'currentItem'],
    ['items', 'items'],
  ]),
  parallel: new Map([
    ['index', 'index'],
    ['currentItem', 'currentItem'],
    ['items', 'items'],
  ]),
};

/** Returns the meaning of a tag: reserved roots first, then blocks by normalised name. The caller checks its shape. */
export function readTag(tag: Tag, context: TemplateContext): TagMeaning {
  const root = normalizeName(tag.root);
  if (root === 'variable') return readVariable(tag, context.names);
  if (root === 'loop' || root === 'parallel') return readGenericContainer(tag, root, context);
  const block = context.names.blockByName.get(root);
  if (block === undefined) return { kind: 'unknown-block' };
  const ref = isContainer(block)
    ? namedContainerReference(tag, block, context)
    : blockReference(tag, block, context);
  return { kind: 'reference', ref, block };
}

function isContainer(block: NamedBlock): block is NamedBlock & { type: ContainerKind } {
  return block.type === 'loop' || block.type === 'parallel';
}

function readVariable(tag: Tag, names: NameTable): TagMeaning {
  if (tag.path === undefined) return { kind: 'text' };
  const [firstSegment = '', ...segments] = tag.path.split('.');
  const bracketIndex = firstSegment.indexOf('[');
  const name = bracketIndex > 0 ? firstSegment.slice(0, bracketIndex) : firstSegment;
  const variable = findVariable(names, name);
  if (variable === undefined) return { kind: 'unknown-variable', name };
  const path = [
    ...(bracketIndex > 0 ? parseSegment(`x${firstSegment.slice(bracketIndex)}`).slice(1) : []),
    ...segments.flatMap(parseSegment),
  ];
  return { kind: 'reference', ref: { kind: 'variable', path, text: tag.text, variable: variable.id } };
}

/**
 * Reads `<loop…>` and `<parallel…>`: the innermost container of that kind around the referencing block, at any depth.
 */
function readGenericContainer(tag: Tag, kind: ContainerKind, context: TemplateContext): TagMeaning {
  const container = visibleContainers(context).findLast((candidate) => candidate.type === kind);
  if (container === undefined) return { kind: 'unknown-block' };
  const ref = enclosingContainerReference(tag, { ...container, type: kind }, context);
  if (ref.kind === 'container' || ref.kind === 'results') ref.generic = true;
  return { kind: 'reference', ref };
}

function namedContainerReference(
  tag: Tag,
  block: NamedBlock & { type: ContainerKind },
  context: TemplateContext,
): Reference {
  if (visibleContainers(context).some((container) => container.id === block.id))
    return enclosingContainerReference(tag, block, context);
  const { property, path } = splitProperty(tag);
  if (property === undefined) return resultsReference(tag, block, { whole: true, path: [] }, context);
  if (isResultsProperty(property)) return resultsReference(tag, block, { whole: false, path }, context);
  if (property === 'error') return blockReference(tag, block, context);
  const isInnerField = CONTAINER_FIELDS[block.type].has(property);
  const problem = isInnerField ? `is available only inside the ${block.type}` : 'does not exist';
  return invalidReference(
    tag,
    `"${property}" of ${block.type} "${block.name}" ${problem}. Available fields: results`,
  );
}

function enclosingContainerReference(
  tag: Tag,
  block: NamedBlock & { type: ContainerKind },
  context: TemplateContext,
): Reference {
  const { property, path } = splitProperty(tag);
  if (property !== undefined && isResultsProperty(property))
    return resultsReference(tag, block, { whole: false, path }, context);
  if (property === 'error' && normalizeName(tag.root) !== block.type)
    return blockReference(tag, block, context);
  const field = property === undefined ? 'all' : CONTAINER_FIELDS[block.type].get(property);
  if (field === undefined) {
    const fields = 'index, currentItem and items (over a collection), results';
    return invalidReference(
      tag,
      `"${property}" of ${block.type} "${block.name}" does not exist. Available fields: ${fields}`,
    );
  }
  return {
    block: block.id,
    field,
    kind: 'container',
    path,
    text: tag.text,
    up: countInnerParallels(block, context),
  };
}

function blockReference(tag: Tag, block: NamedBlock, context: TemplateContext): Reference {
  const path = tag.path === undefined ? [] : parsePath(tag.path);
  const { up, into } = relativeScope(block.id, context);
  return { block: block.id, into, kind: 'block', path, text: tag.text, up };
}

function resultsReference(
  tag: Tag,
  block: NamedBlock,
  { whole, path }: { whole: boolean; path: PathStep[] },
  context: TemplateContext,
): Reference {
  const { up, into } = relativeScope(block.id, context);
  return { block: block.id, into, kind: 'results', path, text: tag.text, up, whole };
}

function invalidReference(tag: Tag, message: string): Reference {
  return { kind: 'invalid', text: tag.text, message: `${tag.text}: ${message}.` };
}

function isResultsProperty(property: string): boolean {
  return property === 'results' || property === 'result';
}

/** Returns the first key of the path and the remaining steps; no `property` if there is no path. */
function splitProperty(tag: Tag): { property?: string; path: PathStep[] } {
  if (tag.path === undefined) return { path: [] };
  const [property, ...path] = parsePath(tag.path);
  return typeof property === 'string' ? { property, path } : { property: tag.path, path: [] };
}

function visibleContainers(context: TemplateContext): readonly NamedBlock[] {
  const containers = context.names.containers.get(context.blockId) ?? [];
  const self = context.fieldPosition === 'condition' ? context.names.blocks.get(context.blockId) : undefined;
  return self === undefined ? containers : [...containers, self];
}

/** Returns the number of parallels between the referencing block and a container around it, without the container. */
function countInnerParallels(container: NamedBlock, context: TemplateContext): number {
  const containers = visibleContainers(context);
  const innerContainers = containers.slice(
    containers.findIndex((candidate) => candidate.id === container.id) + 1,
  );
  return innerContainers.filter((innerContainer) => innerContainer.type === 'parallel').length;
}

/**
 * Returns the scope of the output of `target` relative to the referencing block: the number of branches to leave, then
 * the parallels to enter.
 */
function relativeScope(target: string, { names, blockId }: TemplateContext): { up: number; into: string[] } {
  const ownPath = parallelsAround(names, blockId);
  const targetPath = parallelsAround(names, target);
  let sharedCount = 0;
  while (sharedCount < ownPath.length && ownPath[sharedCount] === targetPath[sharedCount]) sharedCount++;
  return { up: ownPath.length - sharedCount, into: targetPath.slice(sharedCount) };
}

function parallelsAround(names: NameTable, block: string): string[] {
  return (names.containers.get(block) ?? [])
    .filter((container) => container.type === 'parallel')
    .map((container) => container.id);
}
