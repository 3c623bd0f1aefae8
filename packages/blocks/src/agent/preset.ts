import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { parseIfJson } from '@heddle/core/fields';
import { withoutArguments } from '../openapi/service-tools.ts';
import { isEmpty } from './tool-configs.ts';

/** Arguments that the author of an agent has set, and the schema of the arguments that the model chooses. */
export interface Preset {
  values: JsonObject;
  schema: JsonObject;
}

/**
 * Returns the arguments that the author has set in `params`, and `schema` without them. Empty values count as not set.
 * Names that the schema lacks are ignored.
 */
export function presetOf(schema: JsonObject, params: JsonObject): Preset {
  const declaredProperties = getOwn(schema, 'properties');
  const properties = isJsonObject(declaredProperties) ? declaredProperties : {};
  const values: JsonObject = {};
  for (const [name, property] of Object.entries(properties)) {
    const value = getOwn(params, name);
    if (value === undefined || isEmpty(value)) continue;
    const types = isJsonObject(property) ? [property['type']].flat() : [];
    // An editor stores the values of its fields as text.
    const isText = types.includes('string') || types.every((type) => type === undefined);
    values[name] = isText ? value : parseIfJson(value);
  }
  return { values, schema: withoutArguments(schema, new Set(Object.keys(values))) };
}
