import type * as z from 'zod';
import { diagnostic } from '../plan/diagnostics.ts';
import type { Diagnostic, DiagnosticSink } from '../plan/diagnostics.ts';
import { isJsonObject, getOwn } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { PARSE_LIMITS } from './validate.ts';
import { KnownKeys } from './known-keys.ts';
import { blockShape, parseShape } from './shapes.ts';
import { CONTAINER_KEYS } from './workflow.ts';
import type { Block } from './workflow.ts';

const BLOCK_KEYS = new KnownKeys(Object.keys(blockShape.shape), [
  'advancedMode',
  'height',
  'horizontalHandles',
  'locked',
  'position',
]);

/** Keys of a container's data. */
const DATA_KEYS = new KnownKeys([...CONTAINER_KEYS, 'parentId'], ['extent', 'height', 'type', 'width']);

/** Returns the block with the key `key`, without data that only an editor needs; undefined if it cannot be read. */
export function readBlock(key: string, value: Json, sink: DiagnosticSink): Block | undefined {
  const storedBlock = readShape(key, value, sink);
  if (!storedBlock) return undefined;
  const data = (storedBlock.data ?? {}) as JsonObject;
  BLOCK_KEYS.check(value as JsonObject, { path: ['blocks', key], blockId: key }, sink);
  if (isContainerType(storedBlock.type))
    DATA_KEYS.check(data, { path: ['blocks', key, 'data'], blockId: key }, sink);
  const { retry, timeoutMs } = storedBlock as { retry?: Json; timeoutMs?: Json };
  return {
    id: key,
    type: storedBlock.type,
    name: readName(key, storedBlock.name, sink),
    enabled: storedBlock.enabled ?? true,
    trigger: storedBlock.triggerMode ?? false,
    ...readParent(data),
    fields: readFields(key, (storedBlock.subBlocks ?? {}) as JsonObject, sink),
    containerSettings: isContainerType(storedBlock.type) ? pickContainerSettings(data) : {},
    outputs: isJsonObject(storedBlock.outputs) ? (storedBlock.outputs as JsonObject) : {},
    ...(retry != null && { retry }),
    ...(timeoutMs != null && { timeoutMs }),
  };
}

function readShape(key: string, value: Json, sink: DiagnosticSink): z.infer<typeof blockShape> | undefined {
  if (key.length > PARSE_LIMITS.nameChars) {
    sink.push(idTooLongDiagnostic(key));
    return undefined;
  }
  if (key === '') {
    sink.push(idEmptyDiagnostic());
    return undefined;
  }
  const storedBlock = parseShape(blockShape, value, ['blocks', key], sink);
  if (storedBlock?.id == null || storedBlock.id === key) return storedBlock;
  sink.push(idMismatchDiagnostic(key, storedBlock.id));
  return undefined;
}

function readParent(data: JsonObject): Pick<Block, 'parentId'> {
  const parentId = getOwn(data, 'parentId');
  return typeof parentId === 'string' && parentId !== '' ? { parentId } : {};
}

function idTooLongDiagnostic(key: string): Diagnostic {
  return diagnostic('INPUT_TOO_LARGE', {
    path: ['blocks'],
    message: `A block has an id of ${key.length} characters (at most ${PARSE_LIMITS.nameChars}): "${key.slice(0, 40)}…".`,
    hint: 'Give the block a shorter id, and change it in its edges.',
  });
}

/** The empty id stands for the top level of the workflow, so a container with this id would contain itself. */
function idEmptyDiagnostic(): Diagnostic {
  return diagnostic('INPUT_SHAPE', {
    path: ['blocks', ''],
    message: 'A block has an empty id.',
    hint: 'Give the block an id, and use it in the edges of the block.',
  });
}

function idMismatchDiagnostic(key: string, id: string): Diagnostic {
  return diagnostic('BLOCK_ID_MISMATCH', {
    blockId: key,
    path: ['blocks', key, 'id'],
    message: `The block under the key "${key}" has the id "${id}".`,
    hint: 'Use the key as the id: edges and references use it.',
  });
}

/** Returns true for loops and parallels. */
export function isContainerType(type: string): type is 'loop' | 'parallel' {
  return type === 'loop' || type === 'parallel';
}

/** Returns the keys that control how a container runs. Null counts as absent. */
export function pickContainerSettings(data: JsonObject): JsonObject {
  const settings: JsonObject = {};
  for (const key of CONTAINER_KEYS) {
    const value = getOwn(data, key);
    if (value != null) settings[key] = value;
  }
  return settings;
}

function readName(key: string, name: string | null | undefined, sink: DiagnosticSink): string {
  if (name != null && name.trim() !== '') return name;
  sink.push(
    diagnostic('NAME_MISSING', {
      blockId: key,
      path: ['blocks', key, 'name'],
      message: `The block "${key}" has no name.`,
      hint: 'Give it a name. Until then references can only use its id.',
    }),
  );
  return key;
}

function readFields(key: string, subBlocks: JsonObject, sink: DiagnosticSink): JsonObject {
  const fields: JsonObject = {};
  for (const [name, field] of Object.entries(subBlocks)) {
    const problem = fieldProblem(name, field);
    if (problem === undefined) {
      fields[name] = getOwn(field as JsonObject, 'value') ?? null;
      continue;
    }
    sink.push(
      diagnostic('FIELD_DROPPED', {
        blockId: key,
        path: ['blocks', key, 'subBlocks', name],
        message: `The field "${name}" is ignored: ${problem}.`,
        hint: 'Remove it, or give it an id, a type and a value.',
      }),
    );
  }
  return fields;
}

function fieldProblem(name: string, field: Json): string | undefined {
  if (name === 'undefined' || name === '') return 'its name is not valid';
  if (name.length > PARSE_LIMITS.nameChars)
    return `its name has more than ${PARSE_LIMITS.nameChars} characters`;
  if (!isJsonObject(field)) return 'it is not an object with a value';
  return getOwn(field, 'type') === 'unknown' ? 'its type is unknown' : undefined;
}
