import type { Json, JsonObject } from '../json.ts';
import { serializeStoredContainer } from './stored-containers.ts';
import type { Block, Workflow } from './workflow.ts';

/** Returns the workflow as an export, from which `parseWorkflow` reads an equal workflow. Editor data is omitted. */
export function serializeWorkflow(workflow: Workflow): JsonObject {
  const { id, name, description, dialect } = workflow;
  const serializeContainers = (kind: 'loop' | 'parallel'): JsonObject =>
    objectOf(
      workflow.storedContainers
        .filter((storedContainer) => storedContainer.kind === kind)
        .map((storedContainer) => [storedContainer.id, serializeStoredContainer(storedContainer)]),
    );
  return {
    version: '1.0',
    workflow: { id, name, ...(description !== undefined && { description }) },
    state: {
      blocks: objectOf(workflow.blocks.map((block) => [block.id, serializeBlock(block)])),
      edges: workflow.edges.map(({ source, target, port }, index) => ({
        id: `edge-${index + 1}`,
        source,
        target,
        ...(port !== undefined && { sourceHandle: port }),
      })),
      loops: serializeContainers('loop'),
      parallels: serializeContainers('parallel'),
      ...(dialect === 'heddle' && { metadata: { engine: 'heddle' } }),
      variables: objectOf(workflow.variables.map((variable) => [variable.id, { ...variable }])),
    },
  };
}

function objectOf(entries: [string, Json][]): JsonObject {
  return Object.fromEntries(entries);
}

function serializeBlock(block: Block): JsonObject {
  const fields = Object.entries(block.fields).map(([name, value]): [string, Json] => [
    name,
    { id: name, type: 'short-input', value },
  ]);
  const data: JsonObject = {
    ...(block.parentId !== undefined && { parentId: block.parentId }),
    ...block.containerSettings,
  };
  return {
    id: block.id,
    type: block.type,
    name: block.name,
    position: { x: 0, y: 0 },
    enabled: block.enabled,
    ...(block.trigger && { triggerMode: true }),
    subBlocks: objectOf(fields),
    outputs: block.outputs,
    data,
    ...(block.retry !== undefined && { retry: block.retry }),
    ...(block.timeoutMs !== undefined && { timeoutMs: block.timeoutMs }),
  };
}
