import type { TriggerProblem } from '@heddle/core/drafts';
import { isJsonObject } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import * as z from 'zod';

/** A text field, without white space at its ends. The errors of fields complete the message `is not …`. */
export const textField = z.string({ error: 'text' }).trim();

/** A field with the id of a stored credential. */
export const credentialField = textField.max(128, { error: 'the id of a stored credential' }).optional();

/** Returns a field for a whole number or its text: editors store numbers as text. `error`: what the value must be. */
export function integerField(from: number, to: number, error = `a whole number from ${from} to ${to}`) {
  return z
    .union([z.number(), z.string().trim().min(1)], { error })
    .transform(Number)
    .refine((value) => Number.isInteger(value) && value >= from && value <= to, { error });
}

/** Returns a field that has one of the values. */
export function enumField<const T extends readonly string[]>(values: T) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

/** A field for a boolean or its text. */
export const booleanField = z
  .union([z.boolean(), z.enum(['true', 'false'])], { error: 'true or false' })
  .transform((value) => value === true || value === 'true');

/** Returns the strings of a list: an array, the JSON text of an array, or a comma-separated string. */
export function parseList(value: string | readonly string[] | undefined): string[] {
  if (typeof value !== 'string') return [...(value ?? [])];
  const parsed = parseJson(value);
  const parts = Array.isArray(parsed) ? parsed.map(String) : value.split(',');
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** Returns a problem for each field that a schema refuses. */
export function problemsOf({ issues }: z.ZodError): TriggerProblem[] {
  const messages = new Map(issues.map(({ path: [field], message }) => [String(field), `is not ${message}`]));
  return [...messages].map(([field, message]) => ({ field, message }));
}

/** Returns the fields that are not empty. Older blocks have their fields in `triggerConfig`: these are included. */
export function withTriggerConfig(fields: JsonObject): JsonObject {
  const olderFields = fields['triggerConfig'] ?? null;
  const entries = Object.entries({
    ...(isJsonObject(olderFields) && olderFields),
    ...nonEmptyFields(fields),
  });
  return nonEmptyFields(Object.fromEntries(entries));
}

/** Returns the fields that are not empty. */
export function nonEmptyFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => value !== null && !(typeof value === 'string' && value.trim() === ''),
    ),
  );
}
