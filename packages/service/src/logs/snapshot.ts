import type { Json, JsonObject, Plan } from '@heddle/core';
import type { BlockConfig, ContainerConfig } from '@heddle/core/blocks';
import { authoredValue } from '@heddle/core/fields';

type Region = Plan['skeleton'];

/** The graph that a run executed. */
export interface Snapshot {
  blocks: JsonObject;
  edges: Json[];
  loops: JsonObject;
  parallels: JsonObject;
  variables: JsonObject;
}

/**
 * Returns the graph of a plan, with references and placeholders as they were written. Positions and disabled blocks are
 * not part of a plan.
 */
export function graphOfPlan(plan: Plan): Snapshot {
  const { blocks, variables } = plan;
  const containers = Object.values(blocks).filter(({ container }) => container !== undefined);
  const entryOf = ({ id, container }: BlockConfig): [string, Json] => [
    id,
    { id, nodes: childIdsOf(blocks, id), ...(container && containerFields(container)) },
  ];
  const isLoop = ({ type }: BlockConfig): boolean => type === 'loop';
  return {
    blocks: Object.fromEntries(Object.values(blocks).map((block) => [block.id, blockOf(block)])),
    edges: edgesOf(plan.skeleton),
    loops: Object.fromEntries(containers.filter(isLoop).map(entryOf)),
    parallels: Object.fromEntries(containers.filter((block) => !isLoop(block)).map(entryOf)),
    variables: Object.fromEntries(
      variables.map(({ id, name, type, value }) => [id, { id, name, type, value }]),
    ),
  };
}

function blockOf({ id, type, name, params, code, conditions, containers }: BlockConfig): JsonObject {
  const parentId = containers.at(-1);
  const fields: [string, Json][] = Object.entries(params).map(([field, template]) => [
    field,
    authoredValue(template),
  ]);
  if (code) fields.push(['code', code.authored]);
  if (conditions) {
    const branches = conditions.map(({ id: branchId, title, expression }) => ({
      id: branchId,
      title,
      value: expression?.authored ?? '',
    }));
    fields.push(['conditions', JSON.stringify(branches)]);
  }
  const subBlocks = Object.fromEntries(fields.map(([field, value]) => [field, { id: field, value }]));
  return {
    ...{ id, type, name, enabled: true, subBlocks },
    ...(parentId !== undefined && { data: { parentId } }),
  };
}

function childIdsOf(blocks: Plan['blocks'], id: string): string[] {
  return Object.values(blocks).flatMap((block) => (block.containers.at(-1) === id ? [block.id] : []));
}

function containerFields(container: ContainerConfig): JsonObject {
  switch (container.kind) {
    case 'for':
      return { loopType: 'for', iterations: countValue(container.count) };
    case 'forEach':
      return { loopType: 'forEach', forEachItems: itemsValue(container.collection) };
    case 'while':
      return { loopType: 'while', whileCondition: container.condition?.authored ?? '' };
    case 'doWhile':
      return { loopType: 'doWhile', doWhileCondition: container.condition.authored };
    case 'parallelCount':
      return { parallelType: 'count', count: countValue(container.count) };
    case 'parallelCollection':
      return { parallelType: 'collection', distribution: itemsValue(container.collection) };
  }
}

function countValue(count: Extract<ContainerConfig, { kind: 'for' }>['count']): Json {
  return 'static' in count ? count.static : count.expression.authored;
}

function itemsValue(collection: Extract<ContainerConfig, { kind: 'forEach' }>['collection']): Json {
  if ('static' in collection) return collection.static;
  if ('reference' in collection) return collection.reference.text;
  return 'template' in collection ? authoredValue(collection.template) : null;
}

function edgesOf({ nodes, entries }: Region, container?: { id: string; kind: string }): Json[] {
  const startEdges = container
    ? entries.map((index) => toEdge(container.id, `${container.kind}-start-source`, nodes[index]?.id))
    : [];
  const flowEdges = nodes.flatMap(({ id, ins }) =>
    ins.map(({ from, port }) => toEdge(nodes[from]?.id, port, id)),
  );
  const innerEdges = nodes.flatMap(({ id, kind, subflow }) =>
    subflow ? edgesOf(subflow.body, { id, kind }) : [],
  );
  return [...startEdges, ...flowEdges, ...innerEdges];
}

function toEdge(source = '', sourceHandle: string, target = ''): Json {
  return { id: `${source}-${sourceHandle}-${target}`, source, sourceHandle, target };
}
