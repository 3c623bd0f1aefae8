import { isJsonObject, getOwn } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { inputFields } from '../schema/input-format.ts';
import { readJsonText } from '../schema/read-json-text.ts';
import type { Block } from '../schema/workflow.ts';
import type { OutputSchema } from './plan.ts';
import { isTriggerType } from './types.ts';
import type { TypeTable } from './types.ts';

type OutputTypes = { [name: string]: string };

const SCALAR_TYPES = new Set(['string', 'number', 'boolean']);
const START_OUTPUTS: OutputTypes = { input: 'any', conversationId: 'string', files: 'file[]' };

/**
 * Returns the outputs that a block has by its type, its declaration in the file or its fields (such as a response
 * format or an input format); undefined if references may use any path.
 */
export function outputSchema(block: Block, types: TypeTable): OutputSchema | undefined {
  const declaredTypes = declaredOutputs(block, types);
  if (!declaredTypes) return undefined;
  const fields = Object.keys(declaredTypes)
    .toSorted()
    .map((name) => {
      const type = declaredTypes[name] as string;
      return [name, { opaque: !SCALAR_TYPES.has(type), type }] as const;
    });
  return { fields: Object.fromEntries(fields) };
}

function declaredOutputs(block: Block, types: TypeTable): OutputTypes | undefined {
  if (isTriggerType(block.type)) return triggerOutputs(block);
  if (block.trigger) return undefined;
  const typeOutputs = types.get(block.type)?.outputs;
  if (block.type === 'agent')
    return {
      ...typeOutputs,
      ...readOutputs(block.outputs),
      ...responseFormatOutputs(getOwn(block.fields, 'responseFormat')),
    };
  if (block.type === 'human_in_the_loop') return { ...typeOutputs, ...inputFormatOutputs(block) };
  if (block.type === 'evaluator')
    return { ...typeOutputs, ...metricOutputs(getOwn(block.fields, 'metrics')) };
  if (typeOutputs) return { ...typeOutputs };
  // A known type without declared outputs allows any path. For an unknown type the file's declaration applies.
  if (types.has(block.type)) return undefined;
  const outputs = readOutputs(block.outputs);
  return Object.keys(outputs).length > 0 ? outputs : undefined;
}

/** Returns the outputs of a trigger; undefined for external triggers, which output all fields of the payload. */
function triggerOutputs(block: Block): OutputTypes | undefined {
  switch (block.type) {
    case 'start_trigger':
    case 'starter':
    case 'api_trigger':
    case 'input_trigger': {
      const metadata: OutputTypes = getOwn(block.fields, 'runMetadata') === true ? { metadata: 'json' } : {};
      return { ...START_OUTPUTS, ...metadata, ...inputFormatOutputs(block) };
    }
    case 'chat_trigger':
      return { ...START_OUTPUTS };
    default:
      return undefined;
  }
}

function inputFormatOutputs(block: Block): OutputTypes {
  return Object.fromEntries(
    inputFields(getOwn(block.fields, 'inputFormat')).map(({ name, type }) => [name, type]),
  );
}

/** Reads outputs in the exported form: a type name, `{type}`, or nested objects, which are opaque. */
function readOutputs(outputs: JsonObject): OutputTypes {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => {
      const type = isJsonObject(value) ? getOwn(value, 'type') : value;
      return [name, typeof type === 'string' ? type : 'json'];
    }),
  );
}

/**
 * Returns the top-level fields of a response format: `{schema}`, `{json_schema: {schema}}` or a bare schema, as text or
 * object.
 */
function responseFormatOutputs(field: Json | undefined): OutputTypes {
  const format = typeof field === 'string' ? readJsonText(field).value : field;
  if (!isJsonObject(format)) return {};
  const jsonSchema = getOwn(format, 'json_schema');
  const schemaOrWrapper = isJsonObject(jsonSchema) ? jsonSchema : format;
  const schema = getOwn(schemaOrWrapper, 'schema') ?? schemaOrWrapper;
  const properties = isJsonObject(schema) ? getOwn(schema, 'properties') : undefined;
  return isJsonObject(properties) ? readOutputs(properties) : {};
}

function metricOutputs(field: Json | undefined): OutputTypes {
  const metrics = typeof field === 'string' ? readJsonText(field).value : field;
  if (!Array.isArray(metrics)) return {};
  const names = metrics.filter(isJsonObject).map((metric) => getOwn(metric, 'name'));
  return Object.fromEntries(
    names.filter((name) => typeof name === 'string').map((name) => [name.toLowerCase(), 'number']),
  );
}
