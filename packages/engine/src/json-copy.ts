import { BlockError } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';

/** Deeper values are taken for ones that contain themselves. */
const DEEPEST = 1000;
/** Most bytes of UTF-8 that JSON writes for a UTF-16 unit (`\u0000`), and for a number with its comma. */
const UNIT_BYTES = 6;
const SCALAR_BYTES = 26;

/** A value as JSON knows it, and a bound of its text in bytes that costs nothing. */
export interface JsonCopy {
  json: Json;
  mostBytes: number;
}

/**
 * A private copy of what is JSON in `value`, as `JSON.stringify` sees it: `undefined` is left out, dates are texts. So a
 * run reads the same before and after a restart, and nobody can change what was put out.
 *
 * Throws BLOCK_FAILED, naming the place, for functions, symbols, bigints and what contains itself.
 */
export function jsonCopy(value: unknown, what: string): JsonCopy {
  const walk: Walk = { json: null, mostBytes: 0, what, path: [] };
  walk.json = copy(value, undefined, walk) ?? null;
  return walk;
}

interface Walk extends JsonCopy {
  what: string;
  /** Keys of the objects around the one that is copied. */
  path: (string | number)[];
}

/** `key`: that of the value in what is around it. */
function copy(value: unknown, key: string | number | undefined, walk: Walk): Json | undefined {
  walk.mostBytes += SCALAR_BYTES;
  switch (typeof value) {
    case 'string':
      walk.mostBytes += value.length * UNIT_BYTES;
      return value;
    case 'number':
      // JSON has no -0.
      return Number.isFinite(value) ? value + 0 : null;
    case 'boolean':
    case 'undefined':
      return value;
    case 'object':
      return value === null ? null : enter(value, key, walk);
    default:
      throw refused(walk, key, `is a ${typeof value}`);
  }
}

function enter(value: object, key: string | number | undefined, walk: Walk): Json | undefined {
  if (key === undefined) return copyObject(value, walk);
  walk.path.push(key);
  const object = copyObject(value, walk);
  walk.path.pop();
  return object;
}

function copyObject(value: object, walk: Walk): Json | undefined {
  if (walk.path.length > DEEPEST) throw refused(walk, undefined, 'contains itself, or is nested too deeply');
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return copy((value as { toJSON(): unknown }).toJSON(), 'toJSON()', walk);
  if (Array.isArray(value)) return value.map((item, index) => copy(item, index, walk) ?? null);
  const object: { [key: string]: Json } = {};
  for (const key of Object.keys(value)) {
    const item = copy((value as { [key: string]: unknown })[key], key, walk);
    if (item === undefined) continue;
    walk.mostBytes += key.length * UNIT_BYTES;
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

function refused({ what, path }: Walk, key: string | number | undefined, why: string): BlockError {
  const all = key === undefined ? path : [...path, key];
  const shown = all.slice(0, 5).join('.') + (all.length > 5 ? '…' : '');
  return new BlockError(
    'BLOCK_FAILED',
    `${what} cannot be recorded: ${shown === '' ? 'it' : `"${shown}"`} ${why}, which is not JSON.`,
    { retryable: false },
  );
}
