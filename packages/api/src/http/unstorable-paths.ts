import { isStorable } from '@heddle/engine/stores';
import type * as z from 'zod';

type Path = (string | number)[];
type NestedValue = readonly [key: string | number, schema: z.core.$ZodType, value: unknown];

/**
 * Returns the paths of declared strings in `value` that are forbidden as ids and names: those with NUL, which
 * PostgreSQL cannot store, or with a lone surrogate. Values without a declared type (`z.unknown()`) are data and are
 * not checked. `value` must match the schema.
 */
export function unstorablePaths(schema: z.core.$ZodType, value: unknown, path: Path = []): Path[] {
  if (isData(schema)) return [];
  if (typeof value === 'string') return isStorable(value) ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  return nestedValuesOf(schema, value).flatMap(([key, nestedSchema, nestedValue]) => {
    const nestedPath = [...path, key];
    if (typeof key === 'string' && !isStorable(key)) return [nestedPath];
    return unstorablePaths(nestedSchema, nestedValue, nestedPath);
  });
}

/** Returns the values in the object or array that the schema declares. */
function nestedValuesOf(schema: z.core.$ZodType, value: object): NestedValue[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ('innerType' in def) return nestedValuesOf(def.innerType, value);
  const values = value as { [key: string | number]: unknown };
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape).map(([name, field]) => [name, field, values[name]]);
    case 'array':
      return (value as unknown[]).map((item, index) => [index, def.element, item]);
    case 'tuple':
      return def.items.map((item, index) => [index, item, values[index]]);
    case 'record':
      // The keys of a record of data are data, too.
      if (isData(def.valueType)) return [];
      return Object.entries(value).map(([key, property]) => [key, def.valueType, property]);
    case 'union': {
      const option = def.options.find((candidate) => (candidate as z.ZodType).safeParse(value).success);
      return option ? nestedValuesOf(option, value) : [];
    }
    default:
      return [];
  }
}

/** Returns true for a schema without a declared type. */
function isData(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return 'innerType' in def ? isData(def.innerType) : def.type === 'unknown';
}
