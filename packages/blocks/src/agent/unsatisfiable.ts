import { isJsonObject, own } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/** Pairs of limits that exclude all values if the first is larger. */
const RANGES = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

/**
 * Returns why no value can match a JSON Schema; undefined if a value may match. References are not followed. `at` names
 * the schema in the reason. Needs a schema of limited depth.
 */
export function unsatisfiableReason(schema: Json, at = 'it'): string | undefined {
  if (schema === false) return `${at} allows no value`;
  if (!isJsonObject(schema)) return undefined;
  return (
    ownReason(schema, at) ?? objectReason(schema, at) ?? arrayReason(schema, at) ?? choiceReason(schema, at)
  );
}

function ownReason(schema: JsonObject, at: string): string | undefined {
  const { enum: values, const: constant, type } = schema;
  if (Array.isArray(values) && values.length === 0) return `${at} has an empty "enum"`;
  if (Array.isArray(type) && type.length === 0) return `${at} has an empty list of types`;
  const candidates = Array.isArray(values) ? values : constant === undefined ? undefined : [constant];
  if (type !== undefined && candidates && !candidates.some((value) => hasType(value, type)))
    return `${at} has no value of "enum" or "const" with its type`;
  const range = RANGES.find(([low, high]) => isAbove(schema[low], schema[high]));
  return range && `${at} has "${range[0]}" above "${range[1]}"`;
}

function isAbove(low: Json | undefined, high: Json | undefined): boolean {
  return typeof low === 'number' && typeof high === 'number' && low > high;
}

function hasType(value: Json, type: Json): boolean {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [type].flat();
  return types.includes(actual) || (types.includes('integer') && Number.isInteger(value));
}

function objectReason(schema: JsonObject, at: string): string | undefined {
  if (!mustBe(schema, 'object')) return undefined;
  const { required, additionalProperties } = schema;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const isClosed = additionalProperties === false && !isJsonObject(schema['patternProperties']);
  for (const name of Array.isArray(required) ? required : []) {
    if (typeof name !== 'string') continue;
    const property = own(properties, name);
    if (property === undefined && isClosed) return `${at} requires "${name}", which it does not allow`;
    const why = property === undefined ? undefined : unsatisfiableReason(property, `"${name}"`);
    if (why !== undefined) return why;
  }
  return undefined;
}

function arrayReason(schema: JsonObject, at: string): string | undefined {
  const { items, minItems } = schema;
  if (!mustBe(schema, 'array') || typeof minItems !== 'number' || minItems < 1 || items === undefined)
    return undefined;
  return Array.isArray(schema['prefixItems']) ? undefined : unsatisfiableReason(items, `an item of ${at}`);
}

/** Returns true if the schema allows only this type, so that keywords of the type can exclude all values. */
function mustBe({ type }: JsonObject, expected: string): boolean {
  return type === expected || (Array.isArray(type) && type.length === 1 && type[0] === expected);
}

function choiceReason(schema: JsonObject, at: string): string | undefined {
  const { allOf } = schema;
  for (const part of Array.isArray(allOf) ? allOf : []) {
    const why = unsatisfiableReason(part, at);
    if (why !== undefined) return why;
  }
  for (const name of ['anyOf', 'oneOf']) {
    const choices = schema[name];
    if (!Array.isArray(choices)) continue;
    const reasons = choices.map((choice) => unsatisfiableReason(choice, at));
    if (reasons.every((why) => why !== undefined)) return reasons[0] ?? `${at} has an empty "${name}"`;
  }
  return undefined;
}
