import type { Json } from '@heddle/core';
import { inputFields } from '@heddle/core/fields';

/** A field of the form of a pause point. */
export interface PauseField {
  name: string;
  type: string;
  description: string;
  required?: boolean;
  /** The initial text of the field. */
  initialText: string;
}

/** Returns the fields of an input format. The format is data of a workflow, so any part of it may be missing. */
export function fieldsOf(format: unknown): PauseField[] {
  return inputFields(format as Json | undefined).map(
    ({ name, type, description = '', required, value = '' }) => ({
      name,
      type,
      description,
      required,
      initialText: typeof value === 'string' ? value : JSON.stringify(value),
    }),
  );
}

/** Returns the answer of a form without empty fields. Throws an Error that names a field whose text is not JSON. */
export function answerOf(
  fields: readonly PauseField[],
  values: { readonly [name: string]: string },
): { [name: string]: unknown } {
  return Object.fromEntries(
    fields.flatMap(({ name, type, initialText }) => {
      const text = values[name] ?? initialText;
      return text === '' ? [] : [[name, parseFieldValue(name, type, text)]];
    }),
  );
}

function parseFieldValue(name: string, type: string, text: string): unknown {
  if (type === 'number') return Number(text);
  if (type === 'boolean') return text === 'true';
  if (type !== 'object' && type !== 'array') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error(`${name} is not JSON.`);
  }
}
