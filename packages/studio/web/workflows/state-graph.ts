import { isObject } from '../parts/json.ts';

interface Object {
  readonly [key: string]: unknown;
}

/** A draft, or the state of a version. Its blocks are as their author wrote them, so any part may have another type. */
export interface State {
  blocks: Object;
  edges: readonly Object[];
}

/** A block as the graph draws it. */
interface DrawnBlock {
  id: string;
  name: string;
  type: string;
  enabled: boolean;
  position: { x: number; y: number } | null;
  parentId: string | null;
  width: number | null;
  height: number | null;
  ports: { id: string; title: string }[];
}

interface Graph {
  blocks: DrawnBlock[];
  edges: { source: string; target: string; port: string }[];
}

/** Returns the graph of a state. */
export function graphOf({ blocks, edges }: State): Graph {
  return {
    blocks: Object.entries(blocks).map(([id, block]) => drawnBlock(id, objectOf(block))),
    edges: edges.map(({ source, target, sourceHandle }) => ({
      source: textOf(source, ''),
      target: textOf(target, ''),
      port: textOf(sourceHandle, 'source'),
    })),
  };
}

function drawnBlock(id: string, block: Object): DrawnBlock {
  const { parentId } = objectOf(block['data']);
  const { x, y } = objectOf(block['position']);
  return {
    id,
    name: textOf(block['name'], id),
    type: textOf(block['type'], ''),
    enabled: block['enabled'] !== false,
    position: typeof x === 'number' && typeof y === 'number' ? { x, y } : null,
    parentId: typeof parentId === 'string' && parentId !== '' ? parentId : null,
    width: null,
    height: null,
    ports: [...portsOf(block, 'conditions', 'condition-'), ...portsOf(block, 'routes', 'router-')],
  };
}

/** Returns a port for each row of a field, whose value is a list or its JSON text. */
function portsOf(block: Object, field: string, prefix: string): DrawnBlock['ports'] {
  const { value } = objectOf(objectOf(block['subBlocks'])[field]);
  const rows = typeof value === 'string' ? parsed(value) : value;
  return (Array.isArray(rows) ? rows : [])
    .map(objectOf)
    .map(({ id, title }) => ({ id: prefix + textOf(id, ''), title: textOf(title, '') }));
}

/** A field of a block with its value as text. */
export interface ShownField {
  name: string;
  text: string;
}

/** Keys of `data` that position a block. They are not settings of a loop or a parallel. */
const PLACES = new Set(['parentId', 'extent', 'width', 'height']);
/** Settings of a block outside of its fields that change how it runs. */
const SETTINGS = ['retry', 'timeoutMs', 'errorEnabled', 'triggerMode'];

/** Returns the fields of a block that have a value, and its settings. */
export function fieldsOf({ blocks }: State, blockId: string): ShownField[] {
  const block = objectOf(Object.hasOwn(blocks, blockId) ? blocks[blockId] : undefined);
  const fields = Object.entries(objectOf(block['subBlocks'])).map(
    ([name, field]) => [name, objectOf(field)['value']] as const,
  );
  const data = Object.entries(objectOf(block['data'])).filter(([name]) => !PLACES.has(name));
  const settings = SETTINGS.map((name) => [name, block[name]] as const).filter(
    ([, value]) => value !== false,
  );
  return [...data, ...fields, ...settings]
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => ({
      name,
      text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
    }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A draft may contain any text. A row that cannot be read has no port.
    return undefined;
  }
}

function objectOf(value: unknown): Object {
  return isObject(value) ? value : {};
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}
