import { envNamesIn, referencesIn } from '@heddle/core/blocks';
import type { BlockConfig, ContainerConfig, Reference } from '@heddle/core/blocks';
import type { Plan } from '@heddle/core';

type BlockTemplate = Parameters<typeof referencesIn>[0];

/** Returns all references of a block, in the order of its fields. */
export function referencesOf(block: BlockConfig): Reference[] {
  const collectionRefs = block.container ? collectionReferences(block.container) : [];
  return [...collectionRefs, ...templatesOf(block).flatMap((template) => referencesIn(template))];
}

/** Returns the names of the environment values that a plan uses, sorted, each with the blocks that use it. */
export function blocksByEnvName(plan: Plan): Map<string, BlockConfig[]> {
  const blocksByName = new Map<string, BlockConfig[]>();
  for (const block of Object.values(plan.blocks)) {
    const names = new Set(templatesOf(block).flatMap((template) => envNamesIn(template)));
    for (const name of names) blocksByName.set(name, [...(blocksByName.get(name) ?? []), block]);
  }
  return new Map([...blocksByName].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function templatesOf(block: BlockConfig): BlockTemplate[] {
  const conditions = (block.conditions ?? []).flatMap(({ expression }) => expression ?? []);
  return [
    ...Object.values(block.params),
    ...(block.code ? [block.code] : []),
    ...conditions,
    ...(block.container ? containerTemplates(block.container) : []),
  ];
}

function containerTemplates(container: ContainerConfig): BlockTemplate[] {
  switch (container.kind) {
    case 'for':
    case 'parallelCount':
      return 'expression' in container.count ? [container.count.expression] : [];
    case 'while':
    case 'doWhile':
      return container.condition ? [container.condition] : [];
    default:
      return 'template' in container.collection ? [container.collection.template] : [];
  }
}

function collectionReferences(container: ContainerConfig): Reference[] {
  return 'collection' in container && 'reference' in container.collection
    ? [container.collection.reference]
    : [];
}
