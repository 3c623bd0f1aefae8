import type { Json, JsonObject } from '../../packages/core/src/json.ts';

/** The properties of a block of a workflow file that a test sets. */
export interface BlockSettings {
  type?: string;
  name?: string;
  enabled?: boolean;
  triggerMode?: boolean;
  parentId?: string;
  data?: JsonObject;
  outputs?: JsonObject;
  retry?: Json;
  timeoutMs?: Json;
  /** Values of its fields. */
  fields?: JsonObject;
}

export interface WorkflowSettings {
  blocks: { [id: string]: BlockSettings };
  /** Such as `a > b`, or `a:error > b` from the port `error`. */
  edges?: readonly string[];
  /** Additional keys of the state. */
  state?: JsonObject;
}

/** Returns the content of a workflow file. By default, a block is a function block whose name is its id. */
export function workflowFile({ blocks, edges = [], state = {} }: WorkflowSettings): { state: JsonObject } {
  const entries = Object.entries(blocks).map(([id, block]): [string, JsonObject] => [
    id,
    toFileBlock(id, block),
  ]);
  return { state: { blocks: Object.fromEntries(entries), edges: edges.map(toFileEdge), ...state } };
}

/** Returns a function block. */
export function code(text: string, settings: BlockSettings = {}): BlockSettings {
  return { ...settings, type: 'function', fields: { code: text } };
}

/** Returns a start block. */
export function start(settings: BlockSettings = {}): BlockSettings {
  return { type: 'start_trigger', name: 'Start', ...settings };
}

/** Returns a condition with a row for each expression: `if`, `else if` …, and `else` for an empty one. */
export function condition(id: string, ...expressions: string[]): BlockSettings {
  const rows = expressions.map((value, index) => ({
    id: `${id}-${index}`,
    title: value === '' ? 'else' : index === 0 ? 'if' : 'else if',
    value,
  }));
  return { type: 'condition', fields: { conditions: JSON.stringify(rows) } };
}

function toFileBlock(id: string, block: BlockSettings): JsonObject {
  const { type = 'function', name = id, parentId, data, fields = {}, ...rest } = block;
  const subBlocks = Object.entries(fields).map(([key, value]): [string, JsonObject] => [
    key,
    { id: key, type: 'short-input', value },
  ]);
  return {
    id,
    type,
    name,
    position: { x: 0, y: 0 },
    ...(rest as JsonObject),
    subBlocks: Object.fromEntries(subBlocks),
    data: { ...(parentId !== undefined && { parentId, extent: 'parent' }), ...data },
  };
}

function toFileEdge(text: string, index: number): JsonObject {
  const [sourceAndPort = '', target = ''] = text.split(' > ');
  const [source = '', ...port] = sourceAndPort.split(':');
  return { id: `e${index}`, source, target, ...(port.length > 0 && { sourceHandle: port.join(':') }) };
}

/** A workflow that asks a person for an approval and returns the answer. */
export const APPROVAL_WORKFLOW: WorkflowSettings = {
  blocks: {
    s: start(),
    ask: {
      type: 'human_in_the_loop',
      name: 'Approve',
      fields: { inputFormat: [{ id: 'a', name: 'ok', type: 'boolean' }] },
    },
    end: code('return <approve.ok>', { name: 'End' }),
  },
  edges: ['s > ask', 'ask > end'],
};
