import { Validator } from '@cfworker/json-schema';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { formatOf, createNameCollector, createPatternBudget, patternProblem } from './patterns.ts';
import type { PatternBudget } from './patterns.ts';

const MAX_SCHEMA_CHARS = 100_000;
const MAX_DEPTH = 32;
const MAX_ERRORS = 10;
/**
 * Maximum number of evaluations of subschemas for one value. With references, even a small schema can need any number.
 */
const MAX_EVALUATIONS = 200_000;

/** Returns how a value differs from a schema; undefined if the value matches. */
export type SchemaCheck = (value: Json) => string | undefined;

/**
 * Returns the check of values against a JSON Schema, without its formats and `uniqueItems`. A value whose check takes
 * too long does not match.
 *
 * Throws the error that `toError` returns for a schema that is too large or too deep, refers to another document,
 * cannot be read by the validator, takes too long to check, or has patterns that cannot be checked in linear time.
 * `withCheckedPatterns` removes such patterns.
 */
export function compileSchema(schema: JsonObject, toError: (problem: string) => Error): SchemaCheck {
  const text = JSON.stringify(schema);
  if (text.length > MAX_SCHEMA_CHARS) throw toError(`has more than ${MAX_SCHEMA_CHARS} characters`);
  if (depthOf(schema) > MAX_DEPTH) throw toError(`is nested more than ${MAX_DEPTH} levels deep`);
  const externalReference = text.match(/"\$ref":"(?!#)[^"]*"/);
  if (externalReference) throw toError(`refers to another document (${externalReference[0].slice(0, 100)})`);
  const budget: Budget = { remainingEvaluations: 0, patternBudget: createPatternBudget() };
  let validator: Validator;
  const validate = (value: Json): ReturnType<Validator['validate']> => {
    budget.remainingEvaluations = MAX_EVALUATIONS;
    return validator.validate(value);
  };
  try {
    validator = new Validator(toCheckableSchema(schema, budget) as never, '2020-12', false);
    // The validator reports some errors of a schema only when it checks a value.
    validate(null);
  } catch (error) {
    if (error instanceof PatternError) throw toError(error.message);
    throw toError(
      isBudgetExceeded(error) ? 'takes too long to check' : `is not a JSON Schema: ${messageOf(error)}`,
    );
  }
  return (value) => {
    try {
      const { valid, errors } = validate(value);
      if (valid) return undefined;
      // The last errors are the most specific ones.
      const lastErrors = errors.slice(-MAX_ERRORS);
      return lastErrors
        .map(
          ({ instanceLocation, error }) =>
            `${instanceLocation}: ${error.replace('format "pattern"', 'its pattern')}`,
        )
        .join('; ');
    } catch (error) {
      if (isBudgetExceeded(error)) return 'the check takes too long: use a smaller value';
      throw error;
    }
  };
}

/** The remaining budget of a validator. */
interface Budget {
  /** The number of evaluations that remain until the check is stopped. */
  remainingEvaluations: number;
  patternBudget: PatternBudget;
}

class BudgetError extends Error {}

class PatternError extends Error {}

/**
 * True for the error of a check that takes too long. The validator recurses, and copies lists of errors as arguments,
 * so such a check can also end with a stack overflow.
 */
function isBudgetExceeded(error: unknown): boolean {
  return error instanceof BudgetError || error instanceof RangeError;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((maxDepth, item) => Math.max(maxDepth, depthOf(item)), 0);
}

/** Keywords that could keep the validator busy with one small value. */
const REMOVED_KEYWORDS: ReadonlySet<string> = new Set(['pattern', 'format', '$recursiveRef', 'uniqueItems']);
/** Returns a function that subtracts evaluations. Each character that is checked against a pattern counts as one. */
const createBudgetConsumer = (budget: Budget) => (evaluations: number) => {
  budget.remainingEvaluations -= evaluations;
  if (budget.remainingEvaluations < 0) throw new BudgetError();
};
/** A property that the validator reads once for each evaluated subschema, and never enumerates. */
const EVALUATION_PROPERTY = '__absolute_recursive_ref__';

/**
 * Returns the schema without the keywords that are not checked, and with formats in place of patterns. Each subschema
 * counts its own evaluations.
 */
function toCheckableSchema(schema: Json, budget: Budget): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((item) => toCheckableSchema(item, budget));
  if (isJsonObject(schema['patternProperties'])) return replaceNamePatterns(schema, budget);
  const entries = Object.entries(schema).filter(
    ([key, value]) => !REMOVED_KEYWORDS.has(key) || typeof value === 'object',
  );
  const copy: { [key: string]: unknown } = Object.fromEntries(
    entries.map(([key, value]) => [
      key,
      mapSchemas(key, value, (subschema) => toCheckableSchema(subschema, budget)),
    ]),
  );
  const { pattern } = schema;
  if (typeof pattern === 'string') copy['format'] = patternFormat(pattern, budget);
  return countEvaluations(copy, budget);
}

/** Keywords whose value has schemas by name. The author chooses the names, so a name can equal a keyword. */
const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
]);

/** Returns the value of a keyword with `transform` applied to it, or to each of its schemas by name. */
function mapSchemas(keyword: string, value: Json, transform: (schema: Json) => Json): Json {
  if (!SCHEMA_MAP_KEYWORDS.has(keyword) || !isJsonObject(value)) return transform(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, transform(schema)]));
}

/** Makes a schema count its evaluations, and returns it. Calls `onEvaluation` at the beginning of each evaluation. */
function countEvaluations(schema: object, budget: Budget, onEvaluation?: () => void): JsonObject {
  return Object.defineProperty(schema, EVALUATION_PROPERTY, {
    enumerable: false,
    get: () => {
      if (--budget.remainingEvaluations < 0) throw new BudgetError();
      onEvaluation?.();
      return undefined;
    },
  }) as JsonObject;
}

/** The key under which the validator finds the schemas of name patterns, to resolve references in them. */
const NAME_PATTERN_SCHEMAS_KEY = 'patterned';

/**
 * Returns a replacement for a schema with `patternProperties`, which the validator would check with a backtracking
 * engine. The first part of the replacement collects the names that match. The second part has one pattern for
 * each of these names, which matches only this name. The validator evaluates the second part directly after the first.
 */
function replaceNamePatterns(schema: JsonObject, budget: Budget): Json {
  const { patternProperties, properties, additionalProperties, allOf, ...otherKeywords } = schema;
  const schemas = Object.fromEntries(
    Object.entries(patternProperties as JsonObject).map(([pattern, value]) => [
      pattern,
      toCheckableSchema(value, budget),
    ]),
  );
  const collector = createCollector(Object.keys(schemas), budget);
  const collectingSchema = countEvaluations({ propertyNames: { format: collector.format } }, budget, () =>
    collector.reset(),
  );
  const matchingSchema = countEvaluations(
    {
      ...(properties !== undefined && {
        properties: mapSchemas('properties', properties, (subschema) => toCheckableSchema(subschema, budget)),
      }),
      ...(additionalProperties !== undefined && {
        additionalProperties: toCheckableSchema(additionalProperties, budget),
      }),
      [NAME_PATTERN_SCHEMAS_KEY]: schemas,
    },
    budget,
  );
  Object.defineProperty(matchingSchema, 'patternProperties', {
    enumerable: false,
    get: () => {
      // The validator compares each pattern with each name.
      createBudgetConsumer(budget)(collector.matches.size ** 2);
      return Object.fromEntries(
        [...collector.matches].map(([name, patterns]) => [
          exactPattern(name),
          { allOf: patterns.map((pattern) => schemas[pattern] as Json) },
        ]),
      );
    },
  });
  const otherSchema = toCheckableSchema(
    { ...otherKeywords, ...(allOf !== undefined && { allOf }) },
    budget,
  ) as JsonObject;
  const otherSubschemas = Array.isArray(otherSchema['allOf']) ? otherSchema['allOf'] : [];
  return Object.assign(otherSchema, { allOf: [...otherSubschemas, collectingSchema, matchingSchema] });
}

/** Returns a pattern that matches only this name. */
function exactPattern(name: string): string {
  return `^${Array.from(name, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('')}$`;
}

function createCollector(patterns: readonly string[], budget: Budget) {
  try {
    return createNameCollector(patterns, budget.patternBudget, createBudgetConsumer(budget));
  } catch (error) {
    const quotedPatterns = patterns.map(quotePattern).join(', ').slice(0, 200);
    throw new PatternError(
      `has patterns of names (${quotedPatterns}) that cannot be checked: ${messageOf(error)}`,
    );
  }
}

function patternFormat(pattern: string, budget: Budget): object {
  try {
    return formatOf(pattern, budget.patternBudget, createBudgetConsumer(budget));
  } catch (error) {
    throw new PatternError(
      `has the pattern ${quotePattern(pattern)}, which cannot be checked: ${messageOf(error)}`,
    );
  }
}

function quotePattern(pattern: string): string {
  return JSON.stringify(pattern.slice(0, 100));
}

/**
 * Returns the schema of a third-party tool with the patterns that cannot be checked moved to the descriptions, where
 * models still read them. Calls `onUnchecked` with each of these patterns.
 */
export function withCheckedPatterns<Schema extends Json>(
  schema: Schema,
  onUnchecked: (pattern: string) => void = () => {},
): Schema {
  return moveUncheckedPatterns(schema, createPatternBudget(), onUnchecked) as Schema;
}

/**
 * Returns the check against a schema of a third party: patterns that cannot be checked are ignored. Throws like
 * `compileSchema`.
 */
export function compileThirdPartySchema(
  schema: JsonObject,
  toError: (problem: string) => Error,
): SchemaCheck {
  return compileSchema(withCheckedPatterns(schema), toError);
}

/** Keywords whose value is data, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

function moveUncheckedPatterns(
  schema: Json,
  budget: PatternBudget,
  onUnchecked: (pattern: string) => void,
): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  const rewrite = (subschema: Json): Json => moveUncheckedPatterns(subschema, budget, onUnchecked);
  if (Array.isArray(schema)) return schema.map(rewrite);
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      DATA_KEYWORDS.has(key) ? value : mapSchemas(key, value, rewrite),
    ]),
  );
  const { pattern, patternProperties } = schema;
  let checkedSchema: JsonObject = copy;
  if (typeof pattern === 'string' && patternProblem(pattern, budget) !== undefined) {
    onUnchecked(pattern);
    const { pattern: _, ...otherKeywords } = checkedSchema;
    checkedSchema = withNote(otherKeywords, `(Pattern, not checked: ${pattern.slice(0, 200)})`);
  }
  const namePatterns = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  const uncheckedPatterns = namePatterns.filter(
    (namePattern) => patternProblem(namePattern, budget) !== undefined,
  );
  for (const uncheckedPattern of uncheckedPatterns) onUnchecked(uncheckedPattern);
  return uncheckedPatterns.length > 0 ? withoutNamePatterns(checkedSchema, uncheckedPatterns) : checkedSchema;
}

/** Returns the schema without these patterns, and without rules for additional properties, which depend on them. */
function withoutNamePatterns(schema: JsonObject, patterns: readonly string[]): JsonObject {
  const { patternProperties, additionalProperties: _, unevaluatedProperties: __, ...otherKeywords } = schema;
  const remainingPatterns = Object.entries(patternProperties as JsonObject).filter(
    ([pattern]) => !patterns.includes(pattern),
  );
  const listedPatterns = patterns.join(', ').slice(0, 200);
  return withNote(
    {
      ...otherKeywords,
      ...(remainingPatterns.length > 0 && { patternProperties: Object.fromEntries(remainingPatterns) }),
    },
    `(Patterns of names, not checked: ${listedPatterns})`,
  );
}

function withNote(schema: JsonObject, note: string): JsonObject {
  const { description } = schema;
  return { ...schema, description: typeof description === 'string' ? `${description} ${note}` : note };
}

/** Throws an error if the arguments of a model do not match the schema. */
export function requireMatch(args: JsonObject, problemsOf: SchemaCheck): void {
  const problems = problemsOf(args);
  if (problems !== undefined) throw new Error(`The arguments do not match the schema: ${problems}`);
}
