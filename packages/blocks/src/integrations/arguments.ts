import { getOwn } from '@heddle/core/blocks';
import type { BlockError, Json, JsonObject } from '@heddle/core/blocks';
import { parseIfJson } from '@heddle/core/fields';
import { plainText } from '../openapi/wire.ts';
import type { Argument } from './integration.ts';

/** Anything whose arguments are set by fields: a tool, or the settings of a native integration. */
export interface ArgumentDefinitions {
  arguments: { readonly [name: string]: Argument };
}

/** Returns the names of the fields that set an argument. */
export function fieldsOf(name: string, { fields }: Argument): readonly string[] {
  return fields ?? [name];
}

type FieldMode = 'text' | 'native' | 'json';

/**
 * Returns the arguments that fields set. Empty fields set no argument. Throws the result of `errorFor` if two fields
 * set an argument to different values.
 */
export function readArguments(
  { arguments: definitions }: ArgumentDefinitions,
  read: (name: string, mode: FieldMode) => Json | undefined,
  errorFor: (problem: string) => BlockError,
): JsonObject {
  const args: JsonObject = {};
  for (const [name, argument] of Object.entries(definitions)) {
    const filledFields = fieldsOf(name, argument).flatMap((field) => {
      const value = readValue(argument, (mode) => read(field, mode));
      return value === undefined ? [] : [{ field, value }];
    });
    const [firstField, secondField] = filledFields;
    // One of the two values is outdated, and it is unknown which.
    if (firstField && secondField && JSON.stringify(firstField.value) !== JSON.stringify(secondField.value))
      throw errorFor(
        `has a value in "${firstField.field}" and in "${secondField.field}", which set the same argument: clear one of them`,
      );
    if (firstField) args[name] = firstField.value;
  }
  return args;
}

/** Returns the value of a field in the type of its argument; undefined for an empty field. */
function readValue({ schema }: Argument, read: (mode: FieldMode) => Json | undefined): Json | undefined {
  const types = [schema['type']].flat();
  const isText = types.length === 1 && types[0] === 'string';
  const value = read(isText ? 'text' : isStructured(types) ? 'json' : 'native') ?? null;
  if (value === null || (typeof value === 'string' && value.trim() === '')) return undefined;
  if (isText) return plainText(value);
  // The value may be JSON text that a model has written, or a number in a text field.
  const parsedValue = parseIfJson(value);
  return typeof parsedValue === 'object' || !types.includes('string') ? parsedValue : value;
}

function isStructured(types: readonly (Json | undefined)[]): boolean {
  return types.includes('array') || types.includes('object');
}

/** Returns a message with the fields of required arguments without a value; undefined if all have one. */
export function missingFieldsProblem(
  { arguments: definitions }: ArgumentDefinitions,
  args: JsonObject,
): string | undefined {
  const missingArguments = Object.entries(definitions).filter(
    ([name, { required }]) => required && getOwn(args, name) === undefined,
  );
  if (missingArguments.length === 0) return undefined;
  const missingFields = missingArguments.map(
    ([name, missingArgument]) => fieldsOf(name, missingArgument)[0] ?? name,
  );
  return `is missing required fields: ${missingFields.join(', ')}`;
}

/** Returns a string without surrounding spaces; '' for any other value. */
export function trimmedStringOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** Returns the first non-empty string in these fields; undefined if there is none. */
export function firstNonEmptyString(
  names: readonly string[],
  read: (name: string) => Json | undefined,
): string | undefined {
  return names.map((name) => trimmedStringOrEmpty(read(name))).find((value) => value !== '');
}

/** Returns the id of the stored credential that fields name. */
export function credentialIdIn(read: (name: string) => Json | undefined): string | undefined {
  return firstNonEmptyString(['credential', 'manualCredential'], read);
}
