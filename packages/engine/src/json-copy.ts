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
  const walk: Walk = { what, path: [], bytes: 0 };
  return { json: copy(value, walk) ?? null, mostBytes: walk.bytes };
}

interface Walk {
  what: string;
  path: (string | number)[];
  bytes: number;
}

function copy(value: unknown, walk: Walk): Json | undefined {
  walk.bytes += SCALAR_BYTES;
  switch (typeof value) {
    case 'string':
      walk.bytes += value.length * UNIT_BYTES;
      return value;
    case 'number':
      // JSON has no -0.
      return Number.isFinite(value) ? value + 0 : null;
    case 'boolean':
    case 'undefined':
      return value;
    case 'object':
      return value === null ? null : copyObject(value, walk);
    default:
      throw refused(walk, `is a ${typeof value}`);
  }
}

function copyItem(value: unknown, key: string | number, walk: Walk): Json | undefined {
  walk.path.push(key);
  const item = copy(value, walk);
  walk.path.pop();
  return item;
}

function copyObject(value: object, walk: Walk): Json | undefined {
  if (walk.path.length > DEEPEST) throw refused(walk, 'contains itself, or is nested too deeply');
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return copyItem((value as { toJSON(): unknown }).toJSON(), 'toJSON()', walk);
  if (Array.isArray(value)) return value.map((item, index) => copyItem(item, index, walk) ?? null);
  const object: { [key: string]: Json } = {};
  for (const key of Object.keys(value)) {
    const item = copyItem((value as { [key: string]: unknown })[key], key, walk);
    if (item === undefined) continue;
    walk.bytes += key.length * UNIT_BYTES;
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

function refused({ what, path }: Walk, why: string): BlockError {
  const shown = path.slice(0, 5).join('.') + (path.length > 5 ? '…' : '');
  return new BlockError(
    'BLOCK_FAILED',
    `${what} cannot be recorded: ${shown === '' ? 'it' : `"${shown}"`} ${why}, which is not JSON.`,
    { retryable: false },
  );
}
