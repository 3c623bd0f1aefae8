import type { Json } from '../json.ts';

/**
 * The value with the keys of every object in code-unit order.
 *
 * JSON objects have no order: two files that differ only in it compile to one plan.
 */
export function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sortKeys(value[key] as Json)]),
  );
}
