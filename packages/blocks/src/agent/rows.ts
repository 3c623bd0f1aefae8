import type { Json, JsonObject } from '@heddle/core/blocks';

/** Returns the names that a row of an agent's tools gives its tool, the most specific one first. */
export function idsOf(row: JsonObject): string[] {
  return [row['toolId'], row['operation'], row['type']].filter((id) => typeof id === 'string');
}

/** Returns true for the value of an empty field. */
export function isEmpty(value: Json | undefined): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}
