import type { BlockConfig, ContainerConfig, CountSource, Reference, Region } from '@heddle/core/blocks';
import type { Plan } from '@heddle/core';
import { authoredValue, inputFields } from '@heddle/core/fields';
import { formatCount } from '../render/format.ts';
import { referencesOf } from './references.ts';

type Node = Region['nodes'][number];

/** Returns the inputs that a start block declares: `orderId string, items array`. */
export function describeInputs(plan: Plan): string {
  const format = authoredValue(plan.blocks[plan.start]?.params['inputFormat']);
  return inputFields(format)
    .map(({ name, type }) => `${name} ${type}`)
    .join(', ');
}

/** Returns the iterations or branches of a container as text. */
export function describeContainer(container: ContainerConfig, node: Node): string {
  const window = node.subflow?.window;
  const concurrency = window === undefined || window === Infinity ? '' : `, up to ${window} at the same time`;
  switch (container.kind) {
    case 'for':
      return describeCount(container.count, 'iteration');
    case 'forEach':
      return `for each ${describeCollection(container)}`;
    case 'while':
      return container.condition
        ? `while ${container.condition.authored}`
        : 'no iteration: it has no condition';
    case 'doWhile':
      return `repeats while ${container.condition.authored}`;
    case 'parallelCount':
      return `${describeCount(container.count, 'branch')}${concurrency}`;
    case 'parallelCollection':
      return `for each ${describeCollection(container)}${concurrency}`;
  }
}

function describeCount(count: CountSource, noun: string): string {
  return 'static' in count
    ? formatCount(count.static, noun)
    : `${count.expression.authored} ${formatCount(2, noun).slice(2)}`;
}

function describeCollection({ collection }: Extract<ContainerConfig, { collection: unknown }>): string {
  if ('static' in collection) return `of ${formatCount(collection.static.length, 'item')}`;
  if ('reference' in collection) return collection.reference.text;
  return 'template' in collection ? 'item of a list with placeholders' : `nothing: ${collection.invalid}`;
}

/** Returns where the named ports of a node lead: `if → Ship, else → Review`. */
export function describePorts(plan: Plan, region: Region, node: Node): string {
  const nodeIndex = region.nodes.indexOf(node);
  return node.outs
    .flatMap((target) => {
      const targetNode = region.nodes[target];
      const ports = targetNode?.ins.filter((edge) => edge.from === nodeIndex).map((edge) => edge.port) ?? [];
      return ports
        .filter((port) => port !== 'source')
        .map((port) => `${portTitle(plan, node, port)} → ${nameOf(plan, targetNode)}`);
    })
    .join(', ');
}

/** Returns a port's name for people: the title of a condition's branch, or the port itself. */
export function portTitle(plan: Plan, sourceNode: Node | undefined, port: string): string {
  const branches = sourceNode ? plan.blocks[sourceNode.id]?.conditions : undefined;
  return branches?.find(({ id }) => port === `condition-${id}`)?.title ?? port;
}

function nameOf(plan: Plan, node: Node | undefined): string {
  return node ? (plan.blocks[node.id]?.name ?? node.id) : '';
}

/** Returns the names of the blocks, variables and containers that a block reads. */
export function referencedNamesOf(plan: Plan, block: BlockConfig): string[] {
  return [...new Set(referencesOf(block).map((reference) => referenceName(plan, reference)))];
}

function referenceName(plan: Plan, reference: Reference): string {
  if (reference.kind === 'invalid') return reference.text;
  if (reference.kind !== 'variable') return plan.blocks[reference.block]?.name ?? reference.block;
  const variable = plan.variables.find(({ id }) => id === reference.variable);
  return `variable ${variable?.name ?? reference.variable}`;
}
