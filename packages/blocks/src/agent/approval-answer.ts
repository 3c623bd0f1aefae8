import { EngineError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject, ResumeContext } from '@heddle/core/blocks';
import * as z from 'zod';
import { compileSchema } from './json-schema.ts';

const MAX_EDITED_CHARS = 1_000_000;
const MAX_EDITED_DEPTH = 100;
const MAX_REASON_CHARS = 2000;
/** Maximum number of problems and of ids in one error. */
const MAX_LISTED_ITEMS = 10;

/** A call that waits for a person, as the pause shows it. */
export interface WaitingCall {
  /** ROUND.NUMBER: the second call of the first response is 1.2. */
  id: string;
  /** The name of the tool. */
  name: string;
  arguments: JsonObject;
  /** JSON Schema of the arguments. */
  parameters: JsonObject;
}

/**
 * A person's decision about one call. The arguments of an edit replace the model's. The model reads the reason for a
 * denial.
 */
export type Decision = z.output<typeof decisionSchema>;

/**
 * Returns the answer to an agent's pause as `{ decisions }`, with one decision for each call that the answer names. So
 * a decision for all calls covers only those that the pause has shown.
 *
 * Throws RESUME_INPUT_INVALID with the first problems.
 */
export function validateAnswer({ block, pausedOutput, input }: ResumeContext): JsonObject {
  const calls = waitingCalls(pausedOutput);
  const { decisions, problems } = readAnswer(input, calls);
  for (const { id, arguments: modelArguments, parameters } of calls) {
    const decision = decisions.get(id);
    const editedArguments = decision?.decision === 'edit' ? decision.arguments : undefined;
    const problem =
      editedArguments &&
      (problemOfEdit(editedArguments, modelArguments) ?? schemaMismatch(editedArguments, parameters));
    if (problem !== undefined) problems.push(`the arguments of call ${id} ${problem}`);
  }
  if (problems.length === 0) return { decisions: Object.fromEntries(decisions) as unknown as JsonObject };
  const listedProblems = problems.slice(0, MAX_LISTED_ITEMS);
  throw new EngineError(
    'RESUME_INPUT_INVALID',
    `The answer does not fit the calls that "${block.name}" asks about: ${listedProblems.join('; ')}.`,
    { details: { problems: listedProblems } },
  );
}

/** Returns the calls in the output of a pause. */
export function waitingCalls(pauseOutput: JsonObject): WaitingCall[] {
  const calls = getOwn(pauseOutput, 'calls');
  return Array.isArray(calls) ? (calls as unknown as WaitingCall[]) : [];
}

/**
 * Returns the decisions of an answer by the ids of calls, and the problems of the answer. The problems do not quote
 * edited arguments.
 */
export function readAnswer(
  answer: Json,
  calls: readonly WaitingCall[],
): { decisions: Map<string, Decision>; problems: string[] } {
  const problems: string[] = [];
  const decisions = new Map<string, Decision>();
  for (const [id, value] of decisionValues(answer, calls, problems)) {
    if (problems.length >= MAX_LISTED_ITEMS) break;
    const decision = readDecision(id, value, problems);
    if (decision) decisions.set(id, decision);
  }
  return { decisions, problems };
}

/** Returns the unchecked decisions by the ids of calls. A decision for all calls is repeated for each call. */
function decisionValues(
  answer: Json,
  calls: readonly WaitingCall[],
  problems: string[],
): [id: string, value: Json][] {
  const ids = calls.map(({ id }) => id);
  const fields = isJsonObject(answer) ? answer : {};
  const decision = getOwn(fields, 'decision');
  if (decision !== undefined) {
    if (decision !== 'edit' || ids.length === 1) return ids.map((id) => [id, fields]);
    problems.push(`an edit names its call: {"decisions": {"${ids[0]}": {"decision": "edit", …}}}`);
    return [];
  }
  const decisions = getOwn(fields, 'decisions');
  if (isJsonObject(decisions) && Object.keys(fields).length === 1)
    return valuesById(decisions, ids, problems);
  problems.push(
    'use {"decision": "approve"} or {"decision": "deny"} for all calls, or {"decisions": {"1.1": {"decision": …}}} for some',
  );
  return [];
}

function valuesById(
  decisions: JsonObject,
  ids: readonly string[],
  problems: string[],
): [id: string, value: Json][] {
  const entries = Object.entries(decisions);
  const unknownIds = entries
    .filter(([id]) => !ids.includes(id))
    .map(([id]) => JSON.stringify(id.slice(0, 20)));
  if (entries.length === 0) problems.push('"decisions" is empty');
  if (unknownIds.length > 0)
    problems.push(
      `no call ${unknownIds.slice(0, MAX_LISTED_ITEMS).join(', ')} waits here, only ${ids.join(', ')}`,
    );
  return entries.filter(([id]) => ids.includes(id));
}

const reasonSchema = z
  .string()
  .max(MAX_REASON_CHARS, `its reason has more than ${MAX_REASON_CHARS} characters`)
  .optional();
const editedArgumentsSchema = z.custom<JsonObject>(
  (value) => isJsonObject(value as Json),
  'its edit needs "arguments", an object',
);
const decisionSchema = z.discriminatedUnion(
  'decision',
  [
    z.strictObject({ decision: z.literal('approve'), reason: reasonSchema }),
    z.strictObject({ decision: z.literal('edit'), arguments: editedArgumentsSchema, reason: reasonSchema }),
    z.strictObject({ decision: z.literal('deny'), reason: reasonSchema }),
  ],
  { error: 'its decision is neither "approve", "edit" nor "deny"' },
);

function readDecision(id: string, value: Json, problems: string[]): Decision | undefined {
  const result = decisionSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  problems.push(`call ${id}: ${issue?.message.slice(0, 200)}`);
  return undefined;
}

/** The beginning of the text that replaces a secret in recorded data. */
const REDACTED_PREFIX = '«redacted:';
const PLACEHOLDER = /\{\{[^{}]{1,200}\}\}/g;
/** A string that is exactly one reference. */
const REFERENCE = /^\s*<[A-Za-z][\w-]{0,100}\.[\w.[\]-]{1,200}>\s*$/;

/**
 * Returns why edited arguments cannot be used, apart from their schema: their size, or text that looks like a
 * template. Arguments are data: templates in them are not resolved. `modelArguments`: the arguments of the model, whose
 * templates are allowed.
 */
export function problemOfEdit(editedArguments: JsonObject, modelArguments: JsonObject): string | undefined {
  const allowedTemplates = new Set<string>();
  firstProblem(modelArguments, (text) => {
    for (const template of templatesIn(text)) allowedTemplates.add(template);
    return undefined;
  });
  return firstProblem(editedArguments, (text) => {
    if (text.includes(REDACTED_PREFIX))
      return 'contain a secret, or the text that replaces it: secrets are not filled in here';
    const addedTemplate = templatesIn(text).find((template) => !allowedTemplates.has(template));
    return addedTemplate && `contain ${addedTemplate}, which is not filled in here: enter the value itself`;
  });
}

function templatesIn(text: string): string[] {
  return [...(text.match(PLACEHOLDER) ?? []), ...(REFERENCE.test(text) ? [text.trim()] : [])];
}

/** Returns the first problem of a string or key in `value`, or why `value` is too large. */
function firstProblem(
  value: JsonObject,
  problemOf: (text: string) => string | undefined,
): string | undefined {
  let chars = 0;
  const stack: { value: Json; depth: number }[] = [{ value, depth: 1 }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value: item, depth } = next;
    chars += typeof item === 'string' ? item.length : 1;
    if (chars > MAX_EDITED_CHARS) return `have more than ${MAX_EDITED_CHARS} characters`;
    const problem = typeof item === 'string' ? problemOf(item) : undefined;
    if (problem !== undefined) return problem;
    if (typeof item !== 'object' || item === null) continue;
    if (depth > MAX_EDITED_DEPTH) return `are nested more than ${MAX_EDITED_DEPTH} levels deep`;
    if (Object.hasOwn(item, '__proto__')) return 'have a key "__proto__"';
    const keys = Array.isArray(item) ? [] : Object.keys(item);
    for (const nestedValue of [...keys, ...Object.values(item)])
      stack.push({ value: nestedValue, depth: depth + 1 });
  }
  return undefined;
}

function schemaMismatch(editedArguments: JsonObject, parameters: JsonObject): string | undefined {
  const problemsOf = compileSchema(parameters, (problem) => new Error(`The schema of a tool ${problem}.`));
  const problems = problemsOf(editedArguments);
  return problems && `do not match the schema: ${problems}`;
}
