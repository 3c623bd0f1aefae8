import * as z from 'zod';
import { readJsonText } from './read-json-text.ts';
import { CONTAINER_KEYS } from './workflow.ts';

// The compiler checks non-empty fields without references against these schemas. An `error` completes "allowed: …".

/** Returns a schema for one of these strings. */
function oneOf<const T extends readonly string[]>(values: T): z.ZodEnum<z.core.util.ToEnum<T[number]>> {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

function numberField(expected: string, isValid: (value: number) => boolean) {
  return z
    .union([z.number(), z.string().trim().min(1)], { error: expected })
    .transform(Number)
    .refine(isValid, { error: expected });
}

/** The method of an HTTP request (case-insensitive). */
const httpMethod = z
  .string()
  .trim()
  .toUpperCase()
  .pipe(oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']));

/** The units of waits. Waits with `async` have no seconds. */
const waitUnit = oneOf(['seconds', 'minutes', 'hours', 'days']);
const longWaitUnit = waitUnit.exclude(['seconds'], { error: 'one of minutes, hours, days' });

/** The number of units of a wait. */
const waitAmount = numberField('a number above 0', (value) => Number.isFinite(value) && value > 0);

/** The source of a response's data. */
const dataMode = oneOf(['structured', 'json']);

/** The environment values that a function block sees. */
const secretScope = oneOf(['all', 'selected']);

/** The schemas that executors use to read fields. */
export const fieldSchemas = { httpMethod, waitUnit, longWaitUnit, waitAmount, secretScope } as const;

const anything = z.unknown();
const flag = z.union([z.boolean(), z.enum(['true', 'false'])], { error: 'true or false' });
const timeLimitMs = numberField(
  'a number of milliseconds above 0',
  (value) => Number.isFinite(value) && value > 0,
);
const delay = numberField('a number of milliseconds', (value) => Number.isFinite(value) && value >= 0);
const retries = numberField('a number from 0 to 10', (value) => value >= 0 && value <= 10);
const status = numberField(
  'a whole number from 100 to 599',
  (value) => Number.isInteger(value) && value >= 100 && value <= 599,
);

const parseText = (value: unknown): unknown =>
  typeof value === 'string' ? readJsonText(value).value : value;
const listSchema = z.array(anything, { error: 'a list, or its JSON text' });
const inputFormat = z.preprocess(parseText, listSchema);

// Accepts text that is not JSON. A separate check reports such text in blocks other than triggers, because it may
// contain references.
const parseTextOrEmptyList = (value: unknown): unknown =>
  typeof value === 'string' ? (readJsonText(value).value ?? []) : value;
const list = z.preprocess(parseTextOrEmptyList, listSchema);
const table = z.preprocess(
  parseTextOrEmptyList,
  z.union([z.array(anything), z.record(z.string(), anything)], {
    error: 'a table: rows {"cells": {"Key", "Value"}}, or an object',
  }),
);

const childFields = {
  workflowId: anything.describe('Id or name of a deployed workflow.'),
  input: anything.describe('The input of the workflow: a value, or its JSON text.'),
};

const CONTAINER_DESCRIPTIONS: { readonly [key in (typeof CONTAINER_KEYS)[number]]: string } = {
  loopType: 'Kind of a loop: for, forEach, while or doWhile.',
  count: 'Number of iterations (for), or of branches (count).',
  collection: 'The items of a forEach loop or of a parallel: a list or an object, or a reference to one.',
  whileCondition: 'Expression that is tested before each iteration.',
  doWhileCondition: 'Expression that is tested after each iteration.',
  parallelType: 'Kind of a parallel: count or collection.',
  batchSize: 'Branches that run at the same time.',
  onBranchError: 'collect: failed branches become results. Default: they fail the parallel.',
};
const containerFields = z.object(
  Object.fromEntries(CONTAINER_KEYS.map((key) => [key, anything.describe(CONTAINER_DESCRIPTIONS[key])])),
);

const triggerFields = {
  inputFormat: inputFormat.describe('Declared fields of the input: rows {"name", "type", "value"}.'),
  runMetadata: flag.describe('Adds metadata to the output: workflowId, executionId, startTime.'),
};

/** The fields of the built-in blocks by type, with their allowed values: exactly the fields that executors read. */
export const BLOCK_FIELDS: ReadonlyMap<string, z.ZodObject> = new Map<string, z.ZodObject>([
  ['start_trigger', z.object(triggerFields)],
  [
    'starter',
    z.object({ ...triggerFields, startWorkflow: anything.describe('How runs start: manual, chat or api.') }),
  ],
  ['api_trigger', z.object(triggerFields)],
  ['input_trigger', z.object(triggerFields)],
  ['chat_trigger', z.object(triggerFields)],
  ['manual_trigger', z.object(triggerFields)],
  [
    'function',
    z.object({
      code: anything.describe('The body of a function, as text or as a list of {"content"}.'),
      language: anything.describe('javascript (default), python or shell.'),
      timeout: timeLimitMs.describe('Time limit in milliseconds; default 300,000.'),
      sandboxId: anything.describe('Id of an image with packages.'),
      secretScope: secretScope.describe('Which environment values the code gets: all or selected.'),
      mountedSecrets: list.describe('The selected environment values, by name.'),
    }),
  ],
  [
    'condition',
    z.object({ conditions: anything.describe('Rows {"id", "title", "value"}, or their JSON text.') }),
  ],
  [
    'variables',
    z.object({
      variables: list.describe('Assignments: rows {"variableId", "variableName", "type", "value"}.'),
    }),
  ],
  [
    'response',
    z.object({
      dataMode: dataMode.describe('Where the data comes from: structured (builderData) or json (data).'),
      data: anything.describe('The data as JSON text (json).'),
      builderData: list.describe('The data as rows {"name", "type", "value"} (structured).'),
      status: status.describe('HTTP status; default 200.'),
      headers: table.describe('HTTP headers.'),
    }),
  ],
  [
    'api',
    z.object({
      url: anything.describe('URL of the request.'),
      method: httpMethod.describe('Method of the request; default GET.'),
      params: table.describe('Query parameters.'),
      headers: table.describe('HTTP headers.'),
      body: anything.describe('Body: JSON or text.'),
      timeout: timeLimitMs.describe('Time limit in milliseconds; default 300,000.'),
      retries: retries.describe('Attempts after the first one, 0 to 10; default 0.'),
      retryDelayMs: delay.describe('First delay between attempts in milliseconds; default 500.'),
      retryMaxDelayMs: delay.describe('Maximum delay between attempts in milliseconds; default 30,000.'),
      retryNonIdempotent: flag.describe('Retries POST and PATCH too.'),
      idempotencyHeader: anything.describe('true, or the name of a header for an idempotency key.'),
    }),
  ],
  [
    'webhook_request',
    z.object({
      url: anything.describe('URL of the request.'),
      body: anything.describe('Body: JSON or text.'),
      secret: anything.describe('Secret that signs the request, such as {{WEBHOOK_SECRET}}.'),
      headers: table.describe('HTTP headers.'),
    }),
  ],
  [
    'wait',
    z.object({
      timeValue: waitAmount.describe('Number of units; default 10.'),
      timeUnit: waitUnit.describe('Unit: seconds (default), minutes, hours or days.'),
      timeUnitLong: longWaitUnit.describe('Unit with async: minutes (default), hours or days.'),
      async: flag.describe('Uses timeUnitLong, and shows resumeAt.'),
    }),
  ],
  [
    'human_in_the_loop',
    z.object({
      inputFormat: list.describe('Fields that a person submits: rows {"name", "type", "value", "required"}.'),
      builderData: list.describe('What the person sees: rows {"name", "type", "value"}.'),
      operation: anything.describe('Kind of the answer; human or api.'),
      notification: list.describe(
        'Tools that are called before the run waits: items {"type", "operation", "params"}.',
      ),
    }),
  ],
  ['workflow', z.object(childFields)],
  [
    'workflow_input',
    z.object({
      ...childFields,
      inputMapping: anything.describe('The input by field: an object, or its JSON text.'),
    }),
  ],
  ['loop', containerFields],
  ['parallel', containerFields],
]);
