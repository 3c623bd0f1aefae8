import { inputFields, parseIfJson } from '@heddle/core/fields';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { readGraph } from './graph.ts';

/** A field of the input of a workflow, as forms show it. */
export interface FormField {
  name: string;
  type: string;
  description: string | null;
  /** Default: the name. */
  label: string;
  placeholder: string | null;
  isRequired: boolean;
  /** The default value; null if there is none. */
  value: Json;
  /** The allowed values; empty: any. */
  options: string[];
}

/** Block types at which API calls and forms start runs. */
const START_TYPES: ReadonlySet<unknown> = new Set([
  'start_trigger',
  'api_trigger',
  'input_trigger',
  'starter',
]);

/** Returns the input fields of the first start block that has any. `state`: the graph as JSON text. */
export function formFieldsOf(state: string): FormField[] {
  const formats = Object.values(readGraph(state).blocks)
    .filter(({ type }) => START_TYPES.has(type))
    .map((block) => formatOf(block));
  return formFieldsOfFormat(formats.find((format) => inputFields(format).length > 0));
}

/** Returns the fields of an input format. */
export function formFieldsOfFormat(format: Json | undefined): FormField[] {
  const rawFields = parseIfJson(format ?? null);
  return inputFields(format).map(({ name, type, value = null, required, index }) => {
    const rawField = Array.isArray(rawFields) ? rawFields[index] : undefined;
    const textOf = (key: string): string | null => {
      const text = isJsonObject(rawField) ? getOwn(rawField, key) : undefined;
      return typeof text === 'string' && text !== '' ? text : null;
    };
    return {
      ...{ name, type, description: textOf('description'), label: textOf('label') ?? name },
      ...{ placeholder: textOf('placeholder'), isRequired: required, value },
      options: optionsOf(isJsonObject(rawField) ? getOwn(rawField, 'options') : undefined),
    };
  });
}

function formatOf(block: { [key: string]: Json }): Json | undefined {
  const fields = getOwn(block, 'subBlocks');
  const format = isJsonObject(fields) ? getOwn(fields, 'inputFormat') : undefined;
  return isJsonObject(format) ? getOwn(format, 'value') : undefined;
}

/** Returns the ids of options, which are strings, or objects with an id or a value. */
function optionsOf(options: Json | undefined): string[] {
  if (!Array.isArray(options)) return [];
  return options.flatMap((option) => {
    const id = isJsonObject(option) ? (getOwn(option, 'id') ?? getOwn(option, 'value')) : option;
    return typeof id === 'string' && id !== '' ? [id] : [];
  });
}
