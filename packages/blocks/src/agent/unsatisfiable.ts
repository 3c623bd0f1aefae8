import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/** Pairs of limits that exclude all values if the first is larger. */
const RANGES = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

/**
 * Returns why no value can match a JSON Schema; undefined if a value may match. References are not followed. `subject`
 * names the schema in the reason. Needs a schema of limited depth.
 */
export function unsatisfiableReason(schema: Json, subject = 'it'): string | undefined {
  if (schema === false) return `${subject} allows no value`;
  if (!isJsonObject(schema)) return undefined;
  return (
    enumOrRangeReason(schema, subject) ??
    objectReason(schema, subject) ??
    arrayReason(schema, subject) ??
    combinationReason(schema, subject)
  );
}

function enumOrRangeReason(schema: JsonObject, subject: string): string | undefined {
  const { enum: values, const: constant, type } = schema;
  if (Array.isArray(values) && values.length === 0) return `${subject} has an empty "enum"`;
  if (Array.isArray(type) && type.length === 0) return `${subject} has an empty list of types`;
  const candidates = Array.isArray(values) ? values : constant === undefined ? undefined : [constant];
  if (type !== undefined && candidates && !candidates.some((value) => hasType(value, type)))
    return `${subject} has no value of "enum" or "const" with its type`;
  const range = RANGES.find(([low, high]) => isAbove(schema[low], schema[high]));
  return range && `${subject} has "${range[0]}" above "${range[1]}"`;
}

function isAbove(low: Json | undefined, high: Json | undefined): boolean {
  return typeof low === 'number' && typeof high === 'number' && low > high;
}

function hasType(value: Json, type: Json): boolean {
  const actualType = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [type].flat();
  return types.includes(actualType) || (types.includes('integer') && Number.isInteger(value));
}

function objectReason(schema: JsonObject, subject: string): string | undefined {
  if (!allowsOnlyType(schema, 'object')) return undefined;
  const { required, additionalProperties } = schema;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const isClosed = additionalProperties === false && !isJsonObject(schema['patternProperties']);
  for (const name of Array.isArray(required) ? required : []) {
    if (typeof name !== 'string') continue;
    const property = getOwn(properties, name);
    if (property === undefined && isClosed) return `${subject} requires "${name}", which it does not allow`;
    const reason = property === undefined ? undefined : unsatisfiableReason(property, `"${name}"`);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function arrayReason(schema: JsonObject, subject: string): string | undefined {
  const { items, minItems } = schema;
  if (!allowsOnlyType(schema, 'array') || typeof minItems !== 'number' || minItems < 1 || items === undefined)
    return undefined;
  return Array.isArray(schema['prefixItems'])
    ? undefined
    : unsatisfiableReason(items, `an item of ${subject}`);
}

/** Returns true if the schema allows only this type, so that keywords of the type can exclude all values. */
function allowsOnlyType({ type }: JsonObject, expected: string): boolean {
  return type === expected || (Array.isArray(type) && type.length === 1 && type[0] === expected);
}

function combinationReason(schema: JsonObject, subject: string): string | undefined {
  const { allOf } = schema;
  for (const subschema of Array.isArray(allOf) ? allOf : []) {
    const reason = unsatisfiableReason(subschema, subject);
    if (reason !== undefined) return reason;
  }
  for (const name of ['anyOf', 'oneOf']) {
    const choices = schema[name];
    if (!Array.isArray(choices)) continue;
    const reasons = choices.map((choice) => unsatisfiableReason(choice, subject));
    if (reasons.every((reason) => reason !== undefined))
      return reasons[0] ?? `${subject} has an empty "${name}"`;
  }
  return undefined;
}
