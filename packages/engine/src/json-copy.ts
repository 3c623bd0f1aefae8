import { BlockError, EngineError, isBlockError } from '@heddle/core';
import type { EngineErrorCode, Json } from '@heddle/core';

/** Deeper values are treated as circular. */
const MAX_DEPTH = 1000;
/** Maximum number of UTF-8 bytes of one UTF-16 code unit in JSON (`\u0000`). */
const MAX_CODE_UNIT_BYTES = 6;
/** Maximum number of bytes of a number in JSON, with its comma. */
const MAX_SCALAR_BYTES = 26;

/** A JSON value and an upper bound on its size as text. */
export interface JsonCopy {
  json: Json;
  maxBytes: number;
}

/**
 * Returns a private copy of `value` as `JSON.stringify` converts it: without `undefined`, and with dates as strings. So
 * a run reads the same value before and after a restart, and a recorded value cannot be changed. `label` names the
 * value in errors.
 *
 * Throws BLOCK_FAILED, with the path, for functions, symbols, bigints and circular values.
 */
export function jsonCopy(value: unknown, label: string): JsonCopy {
  const walk: Walk = { json: null, maxBytes: 0, label, path: [] };
  walk.json = copy(value, undefined, walk) ?? null;
  return walk;
}

/**
 * Returns a copy of a caller's value like `jsonCopy`. For a value that is not JSON, throws an EngineError with this
 * code, whose message contains the path.
 */
export function copyCallerJson(value: unknown, label: string, code: EngineErrorCode): Json {
  try {
    return jsonCopy(value, label).json;
  } catch (error) {
    if (!isBlockError(error)) throw error;
    throw new EngineError(code, error.message);
  }
}

interface Walk extends JsonCopy {
  label: string;
  /** Keys that lead to the object being copied. */
  path: (string | number)[];
}

/** `key`: the key of `value` in the enclosing object or array. */
function copy(value: unknown, key: string | number | undefined, walk: Walk): Json | undefined {
  walk.maxBytes += MAX_SCALAR_BYTES;
  switch (typeof value) {
    case 'string':
      walk.maxBytes += value.length * MAX_CODE_UNIT_BYTES;
      return value;
    case 'number':
      // JSON has no -0.
      return Number.isFinite(value) ? value + 0 : null;
    case 'boolean':
    case 'undefined':
      return value;
    case 'object':
      return value === null ? null : copyNested(value, key, walk);
    default:
      throw notJsonError(walk, key, `is a ${typeof value}`);
  }
}

function copyNested(value: object, key: string | number | undefined, walk: Walk): Json | undefined {
  if (key === undefined) return copyObject(value, walk);
  walk.path.push(key);
  const object = copyObject(value, walk);
  walk.path.pop();
  return object;
}

function copyObject(value: object, walk: Walk): Json | undefined {
  if (walk.path.length > MAX_DEPTH)
    throw notJsonError(walk, undefined, 'contains itself, or is nested too deeply');
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return copy((value as { toJSON(): unknown }).toJSON(), 'toJSON()', walk);
  if (Array.isArray(value)) return value.map((item, index) => copy(item, index, walk) ?? null);
  const object: { [key: string]: Json } = {};
  for (const key of Object.keys(value)) {
    const item = copy((value as { [key: string]: unknown })[key], key, walk);
    if (item === undefined) continue;
    walk.maxBytes += key.length * MAX_CODE_UNIT_BYTES;
    if (key === '__proto__')
      Object.defineProperty(object, key, {
        value: item,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    else object[key] = item;
  }
  return object;
}

function notJsonError({ label, path }: Walk, key: string | number | undefined, reason: string): BlockError {
  const fullPath = key === undefined ? path : [...path, key];
  const pathText = fullPath.slice(0, 5).join('.') + (fullPath.length > 5 ? '…' : '');
  return new BlockError(
    'BLOCK_FAILED',
    `${label} cannot be recorded: ${pathText === '' ? 'it' : `"${pathText}"`} ${reason}, which is not JSON.`,
    { retryable: false },
  );
}
