import { Validator } from '@cfworker/json-schema';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { formatOf, nameCollector, patternBudget, patternProblem } from './patterns.ts';
import type { PatternBudget } from './patterns.ts';

const MAX_SCHEMA_CHARS = 100_000;
const MAX_DEPTH = 32;
const MAX_ERRORS = 10;
/** Maximum number of evaluations of subschemas for one value. With references, even a small schema can need any number. */
const MAX_EVALUATIONS = 200_000;

/** Returns how a value differs from a schema; undefined: it matches. */
export type SchemaCheck = (value: Json) => string | undefined;

/**
 * Returns the check of values against a JSON Schema, without its formats and `uniqueItems`. A value whose check takes too long
 * does not match. Throws the error of `refuse` for a schema that could keep the validator busy, that it cannot read, or whose
 * patterns cannot be checked in linear time; `withCheckedPatterns` makes such a schema usable.
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
    // Some faults of a schema appear only when it is used.
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

/** Remaining evaluations before the validator is stopped. */
interface Budget {
  left: number;
  patterns: PatternBudget;
}

class BudgetError extends Error {}

class PatternError extends Error {}

/**
 * True for the error of a check that takes too long. The validator recurses, and copies lists of errors as arguments, so such a
 * check can also end with a stack overflow.
 */
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
/** Returns a function that counts each character of a text that is checked against a pattern as an evaluation. */
const spendOf = (budget: Budget) => (chars: number) => {
  budget.left -= chars;
  if (budget.left < 0) throw new BudgetError();
};
/** A property that the validator reads once for each evaluated subschema, and never enumerates. */
const READ_ONCE = '__absolute_recursive_ref__';

/** Returns the schema without the keywords that are not checked. Counts the evaluations of each part. */
function checkable(schema: Json, budget: Budget): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((item) => checkable(item, budget));
  if (isJsonObject(schema['patternProperties'])) return withNamePatterns(schema, budget);
  const kept = Object.entries(schema).filter(
    ([key, value]) => !UNCHECKED.has(key) || typeof value === 'object',
  );
  const copy: { [key: string]: unknown } = Object.fromEntries(
    kept.map(([key, value]) => [key, eachSchema(key, value, (part) => checkable(part, budget))]),
  );
  const { pattern } = schema;
  if (typeof pattern === 'string') copy['format'] = checkedPattern(pattern, budget);
  return counted(copy, budget);
}

/** Keywords whose value has schemas by name. The author chooses the names, so a name can equal a keyword. */
const BY_NAME: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
]);

/** Returns the value of a keyword with `change` applied to it, or to each of its schemas by name. */
function eachSchema(keyword: string, value: Json, change: (schema: Json) => Json): Json {
  if (!BY_NAME.has(keyword) || !isJsonObject(value)) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, change(schema)]));
}

/** Returns the schema with a count of its evaluations. Calls `onEvaluation` at the beginning of each evaluation. */
function counted(schema: object, budget: Budget, onEvaluation?: () => void): JsonObject {
  return Object.defineProperty(schema, READ_ONCE, {
    enumerable: false,
    get: () => {
      if (--budget.left < 0) throw new BudgetError();
      onEvaluation?.();
      return undefined;
    },
  }) as JsonObject;
}

/** The key of the schemas of patterns of names, so that the validator resolves their references. */
const PATTERNED = 'patterned';

/**
 * Returns a replacement for a schema with patterns of names, which the validator would check with an engine that backtracks. A
 * first part collects the matching names, and a second part gets patterns of exactly these names. The validator evaluates the
 * second part directly after the first.
 */
function withNamePatterns(schema: JsonObject, budget: Budget): Json {
  const { patternProperties, properties, additionalProperties, allOf, ...rest } = schema;
  const schemas = Object.fromEntries(
    Object.entries(patternProperties as JsonObject).map(([pattern, value]) => [
      pattern,
      checkable(value, budget),
    ]),
  );
  const names = checkedNames(Object.keys(schemas), budget);
  const collecting = counted({ propertyNames: { format: names.format } }, budget, () => names.reset());
  const matching = counted(
    {
      ...(properties !== undefined && {
        properties: eachSchema('properties', properties, (part) => checkable(part, budget)),
      }),
      ...(additionalProperties !== undefined && {
        additionalProperties: checkable(additionalProperties, budget),
      }),
      [PATTERNED]: schemas,
    },
    budget,
  );
  Object.defineProperty(matching, 'patternProperties', {
    enumerable: false,
    get: () => {
      // The validator compares each pattern with each name.
      spendOf(budget)(names.matches.size ** 2);
      return Object.fromEntries(
        [...names.matches].map(([name, patterns]) => [
          exactly(name),
          { allOf: patterns.map((pattern) => schemas[pattern] as Json) },
        ]),
      );
    },
  });
  const others = checkable({ ...rest, ...(allOf !== undefined && { allOf }) }, budget) as JsonObject;
  const all = Array.isArray(others['allOf']) ? others['allOf'] : [];
  return Object.assign(others, { allOf: [...all, collecting, matching] });
}

/** Returns a pattern that matches only this name. */
function exactly(name: string): string {
  return `^${Array.from(name, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('')}$`;
}

function checkedNames(patterns: readonly string[], budget: Budget) {
  try {
    return nameCollector(patterns, budget.patterns, spendOf(budget));
  } catch (error) {
    const shown = patterns.map(shownPattern).join(', ').slice(0, 200);
    throw new PatternError(`has patterns of names (${shown}) that cannot be checked: ${messageOf(error)}`);
  }
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

/**
 * Returns the check against a schema of a third party: patterns that cannot be checked are left out. Throws like `compileSchema`.
 */
export function compileForeignSchema(schema: JsonObject, refuse: (why: string) => Error): SchemaCheck {
  return compileSchema(withCheckedPatterns(schema), refuse);
}

/** Keywords whose value is data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

function rewritten(schema: Json, budget: PatternBudget, noted: (pattern: string) => void): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((item) => rewritten(item, budget, noted));
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      DATA.has(key) ? value : eachSchema(key, value, (part) => rewritten(part, budget, noted)),
    ]),
  );
  const { pattern, patternProperties } = schema;
  let checked: JsonObject = copy;
  if (typeof pattern === 'string' && patternProblem(pattern, budget) !== undefined) {
    noted(pattern);
    const { pattern: _, ...others } = checked;
    checked = described(others, `(Pattern, not checked: ${pattern.slice(0, 200)})`);
  }
  const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  const unchecked = names.filter((name) => patternProblem(name, budget) !== undefined);
  for (const name of unchecked) noted(name);
  return unchecked.length > 0 ? withoutNamePatterns(checked, unchecked) : checked;
}

/** Returns the schema without these patterns, and without rules for additional properties, which depend on them. */
function withoutNamePatterns(schema: JsonObject, patterns: readonly string[]): JsonObject {
  const { patternProperties, additionalProperties: _, unevaluatedProperties: __, ...others } = schema;
  const kept = Object.entries(patternProperties as JsonObject).filter(([name]) => !patterns.includes(name));
  const shown = patterns.join(', ').slice(0, 200);
  return described(
    { ...others, ...(kept.length > 0 && { patternProperties: Object.fromEntries(kept) }) },
    `(Patterns of names, not checked: ${shown})`,
  );
}

function described(schema: JsonObject, note: string): JsonObject {
  const { description } = schema;
  return { ...schema, description: typeof description === 'string' ? `${description} ${note}` : note };
}

/** Throws for arguments that a model gave and that do not match. */
export function expectMatch(args: JsonObject, problemsOf: SchemaCheck): void {
  const problems = problemsOf(args);
  if (problems !== undefined) throw new Error(`The arguments do not match the schema: ${problems}`);
}
