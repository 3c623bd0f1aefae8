import * as z from 'zod';
import { readJsonText } from './read-json-text.ts';
import { CONTAINER_KEYS } from './workflow.ts';

// Allowed values of non-empty fields without references. The message of a schema says what it expects.

/** Returns a schema for one of these texts. */
function oneOf<const T extends readonly string[]>(values: T): z.ZodEnum<z.core.util.ToEnum<T[number]>> {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

function numberField(expected: string, fits: (value: number) => boolean) {
  return z
    .union([z.number(), z.string().trim().min(1)], { error: expected })
    .transform(Number)
    .refine(fits, { error: expected });
}

/** The method of an HTTP request, in any case. */
const httpMethod = z
  .string()
  .trim()
  .toUpperCase()
  .pipe(oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']));

/** The unit of a wait, in a process and suspended. */
const waitUnit = oneOf(['seconds', 'minutes', 'hours', 'days']);
const longWaitUnit = waitUnit.exclude(['seconds'], { error: 'one of minutes, hours, days' });

/** The number of units of a wait. */
const waitAmount = numberField('a number above 0', (value) => Number.isFinite(value) && value > 0);

/** The source of a response's data. */
const dataMode = oneOf(['structured', 'json']);

/** The environment values that a function block sees. */
const secretScope = oneOf(['all', 'selected']);

/** Schemas with which executors read fields. */
export const fieldSchemas = { httpMethod, waitUnit, longWaitUnit, waitAmount, secretScope } as const;

const anything = z.unknown();
const flag = z.union([z.boolean(), z.enum(['true', 'false'])], { error: 'true or false' });
const millis = numberField(
  'a number of milliseconds above 0',
  (value) => Number.isFinite(value) && value > 0,
);
const delay = numberField('a number of milliseconds', (value) => Number.isFinite(value) && value >= 0);
const retries = numberField('a number from 0 to 10', (value) => value >= 0 && value <= 10);
const status = numberField(
  'a whole number from 100 to 599',
  (value) => Number.isInteger(value) && value >= 100 && value <= 599,
);

const fromText = (value: unknown): unknown => (typeof value === 'string' ? readJsonText(value).value : value);
const someList = z.array(anything, { error: 'a list, or its JSON text' });
const format = z.preprocess(fromText, someList);

// For fields after a trigger, another check reports text that is not JSON: it considers references, too.
const fromJson = (value: unknown): unknown =>
  typeof value === 'string' ? (readJsonText(value).value ?? []) : value;
const list = z.preprocess(fromJson, someList);
const table = z.preprocess(
  fromJson,
  z.union([z.array(anything), z.record(z.string(), anything)], {
    error: 'a table: rows {"cells": {"Key", "Value"}}, or an object',
  }),
);

const child = { workflowId: anything, input: anything };
const container = z.object(Object.fromEntries(CONTAINER_KEYS.map((key) => [key, anything])));

/** The fields of the built-in blocks by type, with their allowed values: exactly the fields that executors read. */
export const BLOCK_FIELDS: ReadonlyMap<string, z.ZodObject> = new Map<string, z.ZodObject>([
  ['start_trigger', z.object({ inputFormat: format, runMetadata: flag })],
  ['starter', z.object({ inputFormat: format, runMetadata: flag, startWorkflow: anything })],
  ['api_trigger', z.object({ inputFormat: format, runMetadata: flag })],
  ['input_trigger', z.object({ inputFormat: format, runMetadata: flag })],
  ['chat_trigger', z.object({ inputFormat: format, runMetadata: flag })],
  ['manual_trigger', z.object({ inputFormat: format, runMetadata: flag })],
  [
    'function',
    z.object({
      code: anything,
      language: anything,
      timeout: millis,
      sandboxId: anything,
      secretScope,
      mountedSecrets: list,
    }),
  ],
  ['condition', z.object({ conditions: anything })],
  ['variables', z.object({ variables: list })],
  ['response', z.object({ dataMode, data: anything, builderData: list, status, headers: table })],
  [
    'api',
    z.object({
      url: anything,
      method: httpMethod,
      params: table,
      headers: table,
      body: anything,
      timeout: millis,
      retries,
      retryDelayMs: delay,
      retryMaxDelayMs: delay,
      retryNonIdempotent: flag,
      idempotencyHeader: anything,
    }),
  ],
  ['webhook_request', z.object({ url: anything, body: anything, secret: anything, headers: table })],
  ['wait', z.object({ timeValue: waitAmount, timeUnit: waitUnit, timeUnitLong: longWaitUnit, async: flag })],
  [
    'human_in_the_loop',
    z.object({ inputFormat: list, builderData: list, operation: anything, notification: list }),
  ],
  ['workflow', z.object(child)],
  ['workflow_input', z.object({ ...child, inputMapping: anything })],
  ['loop', container],
  ['parallel', container],
]);
