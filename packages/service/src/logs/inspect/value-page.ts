import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';

/** Maximum number of characters of JSON text in one response. */
export const MAX_TEXT_CHARACTERS = 65_536;
/** Maximum number of entries of an array or object in one response. */
const MAX_ENTRIES = 100;
const MAX_PREVIEW_CHARACTERS = 120;

export type ValueKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** An entry of an array or object. */
export interface ValueEntry {
  key: string;
  kind: ValueKind;
  /** The beginning of the JSON text of a scalar, or the number of entries of an array or object. */
  preview: string;
}

/** A page of a value: a part of its JSON text, and some of its entries. */
export interface ValuePage {
  kind: ValueKind;
  /** Size of the whole value as JSON text. */
  bytes: number;
  /** Number of entries; null for a value that is neither an array nor an object. */
  size: number | null;
  entries: ValueEntry[];
  nextEntry: number | null;
  text: string;
  nextOffset: number | null;
}

/** Returns the keys of a JSON pointer (RFC 6901); undefined for a string that is not a pointer. */
export function keysOfPointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the value at the keys; undefined if there is none. */
export function valueAtKeys(value: Json, keys: readonly string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const key of keys) {
    if (Array.isArray(current)) current = /^(0|[1-9]\d*)$/.test(key) ? current[Number(key)] : undefined;
    else current = isJsonObject(current) && Object.hasOwn(current, key) ? current[key] : undefined;
  }
  return current;
}

/**
 * Returns a page of a value: its text from `offset` on, and its entries from number `entry` on. Takes O(size of the
 * value).
 */
export function pageOfValue(value: Json, { offset, entry }: { offset: number; entry: number }): ValuePage {
  const text = JSON.stringify(value, null, 2);
  const end = endOfText(text, Math.min(offset + MAX_TEXT_CHARACTERS, text.length));
  const keys = keysOf(value);
  return {
    kind: kindOf(value),
    bytes: Buffer.byteLength(JSON.stringify(value)),
    size: keys?.length ?? null,
    entries: (keys ?? []).slice(entry, entry + MAX_ENTRIES).map((key) => entryOf(key, value)),
    nextEntry: keys && keys.length > entry + MAX_ENTRIES ? entry + MAX_ENTRIES : null,
    text: text.slice(offset, end),
    nextOffset: end < text.length ? end : null,
  };
}

/** Returns the position, or the previous position if the text would end within a surrogate pair. */
function endOfText(text: string, position: number): number {
  const code = text.charCodeAt(position - 1);
  return position < text.length && code >= 0xd800 && code < 0xdc00 ? position - 1 : position;
}

function keysOf(value: Json): string[] | undefined {
  if (Array.isArray(value)) return value.map((_, index) => String(index));
  return isJsonObject(value) ? Object.keys(value) : undefined;
}

function entryOf(key: string, value: Json): ValueEntry {
  const child = valueAtKeys(value, [key]) ?? null;
  return { key, kind: kindOf(child), preview: previewOf(child) };
}

function kindOf(value: Json): ValueKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as Exclude<ValueKind, 'null' | 'array'>;
}

/** Returns the beginning of the JSON text of a scalar, else the number of entries. */
function previewOf(value: Json): string {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'item' : 'items'}`;
  if (isJsonObject(value)) {
    const count = Object.keys(value).length;
    return `${count} ${count === 1 ? 'field' : 'fields'}`;
  }
  const text =
    typeof value === 'string' ? JSON.stringify(value.slice(0, MAX_PREVIEW_CHARACTERS)) : String(value);
  return text.length > MAX_PREVIEW_CHARACTERS ? `${text.slice(0, MAX_PREVIEW_CHARACTERS)}…` : text;
}
