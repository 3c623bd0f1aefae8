import { Validator } from '@cfworker/json-schema';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { formatOf, patternBudget, patternProblem } from './patterns.ts';
import type { PatternBudget } from './patterns.ts';

const MAX_SCHEMA_CHARS = 100_000;
const MAX_DEPTH = 32;
const MAX_ERRORS = 10;
/** Evaluations of subschemas for one value. References make it possible that a small schema needs any number of them. */
const MAX_EVALUATIONS = 200_000;

/** Returns how a value differs from a schema; undefined: it matches. */
export type SchemaCheck = (value: Json) => string | undefined;

/**
 * Returns the check of values against a JSON Schema, without its formats, `uniqueItems` and patterns of names. A value whose
 * check takes too long does not match. Throws what `refuse` returns for a schema that could keep the validator busy, that it
 * cannot read, or whose patterns cannot be checked in linear time; `withCheckedPatterns` makes such a schema usable.
 */
export function compileSchema(schema: JsonObject, refuse: (why: string) => Error): SchemaCheck {
  const text = JSON.stringify(schema);
  if (text.length > MAX_SCHEMA_CHARS) throw refuse(`has more than ${MAX_SCHEMA_CHARS} characters`);
  if (depthOf(schema) > MAX_DEPTH) throw refuse(`is nested more than ${MAX_DEPTH} levels deep`);
  const foreign = text.match(/"\$ref":"(?!#)[^"]*"/);
  if (foreign) throw refuse(`refers to another document (${foreign[0].slice(0, 100)})`);
  const budget: Budget = { left: 0, patterns: patternBudget() };
  let validator: Validator;
  const validate = (value: Json): ReturnType<Validator['validate']> => {
    budget.left = MAX_EVALUATIONS;
    return validator.validate(value);
  };
  try {
    validator = new Validator(checkable(schema, budget) as never, '2020-12', false);
    // Some faults of the schema show when it is used.
    validate(null);
  } catch (error) {
    if (error instanceof PatternError) throw refuse(error.message);
    throw refuse(isTooLong(error) ? 'takes too long to check' : `is not a JSON Schema: ${messageOf(error)}`);
  }
  return (value) => {
    try {
      const { valid, errors } = validate(value);
      if (valid) return undefined;
      // The last errors are the most specific ones.
      const last = errors.slice(-MAX_ERRORS);
      return last
        .map(
          ({ instanceLocation, error }) =>
            `${instanceLocation}: ${error.replace('format "pattern"', 'its pattern')}`,
        )
        .join('; ');
    } catch (error) {
      if (isTooLong(error)) return 'the check takes too long: use a smaller value';
      throw error;
    }
  };
}

/** Evaluations until the validator is stopped. */
interface Budget {
  left: number;
  patterns: PatternBudget;
}

class BudgetError extends Error {}

class PatternError extends Error {}

/** The validator recurses, and copies lists of errors as arguments, so an endless check can also end with a full stack. */
function isTooLong(error: unknown): boolean {
  return error instanceof BudgetError || error instanceof RangeError;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((deepest, item) => Math.max(deepest, depthOf(item)), 0);
}

/** Keywords that an author could use to keep the validator busy with one small value. */
const UNCHECKED: ReadonlySet<string> = new Set(['pattern', 'format', '$recursiveRef', 'uniqueItems']);
/** Texts that are checked against patterns count with their characters. */
const spendOf = (budget: Budget) => (chars: number) => {
  budget.left -= chars;
  if (budget.left < 0) throw new BudgetError();
};
/** The validator reads it of every subschema that it evaluates, and never lists it. */
const READ_ONCE = '__absolute_recursive_ref__';

/** Returns the schema without the keywords that are not checked. Counts the evaluations of each part. */
function checkable(schema: Json, budget: Budget): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((item) => checkable(item, budget));
  // Without its patterns, a schema cannot tell which other properties there are.
  const isOpen = isJsonObject(schema['patternProperties']);
  const kept = Object.entries(schema).filter(([key, value]) => {
    if (UNCHECKED.has(key)) return typeof value === 'object';
    if (key === 'patternProperties') return false;
    return !(isOpen && (key === 'additionalProperties' || key === 'unevaluatedProperties'));
  });
  const copy: { [key: string]: unknown } = Object.fromEntries(
    kept.map(([key, value]) => [key, checkable(value, budget)]),
  );
  const { pattern } = schema;
  if (typeof pattern === 'string') copy['format'] = checkedPattern(pattern, budget);
  return Object.defineProperty(copy, READ_ONCE, {
    enumerable: false,
    get: () => {
      if (--budget.left < 0) throw new BudgetError();
      return undefined;
    },
  }) as JsonObject;
}

function checkedPattern(pattern: string, budget: Budget): object {
  try {
    return formatOf(pattern, budget.patterns, spendOf(budget));
  } catch (error) {
    throw new PatternError(
      `has the pattern ${shownPattern(pattern)}, which cannot be checked: ${messageOf(error)}`,
    );
  }
}

function shownPattern(pattern: string): string {
  return JSON.stringify(pattern.slice(0, 100));
}

/**
 * Returns the schema of a foreign tool with its patterns, except those that cannot be checked: they are part of the descriptions
 * instead, so that models still read them. `noted` is called with each.
 */
export function withCheckedPatterns<Schema extends Json>(
  schema: Schema,
  noted: (pattern: string) => void = () => {},
): Schema {
  return rewritten(schema, patternBudget(), noted) as Schema;
}

/** Keywords whose value is data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

function rewritten(schema: Json, budget: PatternBudget, noted: (pattern: string) => void): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((item) => rewritten(item, budget, noted));
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      DATA.has(key) ? value : rewritten(value, budget, noted),
    ]),
  );
  const { pattern, description } = schema;
  if (typeof pattern !== 'string' || patternProblem(pattern, budget) === undefined) return copy;
  noted(pattern);
  const { pattern: _, ...others } = copy;
  const said = typeof description === 'string' ? `${description} ` : '';
  return { ...others, description: `${said}(Pattern, not checked: ${pattern.slice(0, 200)})` };
}

/** Throws for arguments that a model gave and that do not match. */
export function expectMatch(args: JsonObject, problemsOf: SchemaCheck): void {
  const problems = problemsOf(args);
  if (problems !== undefined) throw new Error(`The arguments do not match the schema: ${problems}`);
}
