import { EngineError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject, ResumeContext } from '@heddle/core/blocks';
import { inputFields, parseJson } from '@heddle/core/fields';
import type { InputField } from '@heddle/core/fields';
import { coerceField } from './input-format.ts';

/** Returns the output of a pause after the submission of `input`. Throws RESUME_INPUT_INVALID with all issues. */
export function resumeOutput(context: ResumeContext): JsonObject {
  const { pausedOutput, nowMs } = context;
  const resumeInput = unwrap(context.input);
  const submission = checkSubmission(
    context.block.name,
    inputFields(inputFormatOf(pausedOutput)),
    resumeInput,
  );
  const output = new Map<string, Json>([...Object.entries(pausedOutput), ...Object.entries(submission)]);
  const response = getOwn(pausedOutput, 'response') ?? {};
  output.set('response', withSubmission(response, submission));
  output.set('submission', submission);
  output.set('resumeInput', resumeInput);
  output.set('submittedAt', new Date(nowMs).toISOString());
  output.set('_resumed', true);
  output.set('_pauseDurationMs', Math.max(0, nowMs - context.pausedMs));
  return Object.fromEntries(output);
}

/** Returns the fields of a submission: parses text, unwraps `submission`, and converts other values to `{value}`. */
function unwrap(input: Json): JsonObject {
  const value = typeof input === 'string' ? (parseJson(input) ?? input) : input;
  if (value === null || value === '') return {};
  if (!isJsonObject(value)) return { value };
  const submission = getOwn(value, 'submission');
  return isJsonObject(submission) ? submission : value;
}

/** Returns the declared inputs in the output of an open pause; null if there are none. */
export function inputFormatOf(pausedOutput: JsonObject): Json {
  const response = getOwn(pausedOutput, 'response');
  const data = isJsonObject(response) ? getOwn(response, 'data') : undefined;
  return isJsonObject(data) ? (getOwn(data, 'inputFormat') ?? null) : null;
}

function withSubmission(response: Json, submission: JsonObject): Json {
  if (!isJsonObject(response)) return response;
  const data = getOwn(response, 'data');
  return isJsonObject(data) ? { ...response, data: { ...data, submission } } : response;
}

function checkSubmission(blockName: string, fields: readonly InputField[], input: JsonObject): JsonObject {
  const problems: { field: string; problem: string }[] = [];
  const submission = new Map<string, Json>(Object.entries(input));
  for (const field of fields) {
    const value = getOwn(input, field.name) ?? field.value;
    if (value === undefined || (value === '' && field.required)) {
      if (field.required) problems.push({ field: field.name, problem: 'is required' });
      continue;
    }
    const coercedValue = fitsType(value, field.type) ? value : coerceField(value, field.type);
    if (fitsType(coercedValue, field.type) && !losesData(value, field.type))
      submission.set(field.name, coercedValue);
    else problems.push({ field: field.name, problem: `must be ${EXPECTED_VALUES[field.type] ?? 'a value'}` });
  }
  if (problems.length === 0) return Object.fromEntries(submission);
  throw new EngineError(
    'RESUME_INPUT_INVALID',
    `The input does not fit the pause "${blockName}": ${problems.map(({ field, problem }) => `"${field}" ${problem}`).join('; ')}.`,
    { details: { problems } },
  );
}

/** True if the conversion would lose data: a list or an object as text. */
function losesData(value: Json, type: string): boolean {
  return type === 'string' && typeof value === 'object';
}

const EXPECTED_VALUES: { readonly [type: string]: string } = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  'file[]': 'a list of files',
};

function fitsType(value: Json, type: string): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'object':
      return isJsonObject(value);
    case 'array':
    case 'file[]':
      return Array.isArray(value);
    default:
      return true;
  }
}
