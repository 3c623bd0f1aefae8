import { isObject } from '../components/json.ts';

interface JsonObject {
  readonly [key: string]: unknown;
}

/** A draft, or the state of a version. Its blocks are as their author wrote them, so any part may have another type. */
export interface WorkflowState {
  blocks: JsonObject;
}

/** A field of a block with its value as text. */
export interface FieldText {
  name: string;
  text: string;
}

/** Keys of `data` that position a block. They are not settings of a loop or a parallel. */
const LAYOUT_KEYS = new Set(['parentId', 'extent', 'width', 'height']);
/** Settings that change how a block runs and are not fields of the block. */
const SETTING_NAMES = ['retry', 'timeoutMs', 'errorEnabled', 'triggerMode'];

/** Returns the fields of a block that have a value, and its settings. */
export function fieldsOf({ blocks }: WorkflowState, blockId: string): FieldText[] {
  const block = objectOrEmpty(Object.hasOwn(blocks, blockId) ? blocks[blockId] : undefined);
  const fields = Object.entries(objectOrEmpty(block['subBlocks'])).map(
    ([name, field]) => [name, objectOrEmpty(field)['value']] as const,
  );
  const data = Object.entries(objectOrEmpty(block['data'])).filter(([name]) => !LAYOUT_KEYS.has(name));
  const settings = SETTING_NAMES.map((name) => [name, block[name]] as const).filter(
    ([, value]) => value !== false,
  );
  return [...data, ...fields, ...settings]
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => ({
      name,
      text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
    }));
}

function objectOrEmpty(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
