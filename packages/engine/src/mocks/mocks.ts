import { EngineError, normalizeName } from '@heddle/core/blocks';
import type { BlockConfig, Json } from '@heddle/core/blocks';
import * as z from 'zod';

/** A failure instead of an output. */
const MockFailure = z.strictObject({
  $error: z.strictObject({
    code: z
      .string()
      .regex(
        /^[A-Z][A-Z0-9_]*$/,
        'must have upper-case letters, digits and underscores only, and begin with a letter',
      )
      .optional(),
    message: z.string(),
    retryable: z.boolean().optional(),
  }),
});

const MockTable = z.record(z.string(), z.json().superRefine(checkValue));

const MocksSchema = z.strictObject({ blocks: MockTable.optional(), types: MockTable.optional() });

/** One mock value: an output, a scalar for the main field of an output, or a failure. */
export type MockValue = Json;

/** Values that replace the execution of blocks. */
export interface Mocks {
  /**
   * Returns the values for the block in order; undefined if it is not mocked. A mock of the block takes precedence over
   * one of its type.
   */
  valuesFor(block: Pick<BlockConfig, 'id' | 'name' | 'type'>): readonly MockValue[] | undefined;
  /** The mocks as JSON, for the header of the run. */
  readonly json: Json;
  /** Returns the names and ids of mocks that match none of the plan's blocks. */
  unusedNames(planBlocks: readonly Pick<BlockConfig, 'id' | 'name'>[]): string[];
}

export const NO_MOCKS: Mocks = { valuesFor: () => undefined, json: null, unusedNames: () => [] };

/**
 * Returns the mocks of a run: `{"blocks": {NAME: value | [values]}, "types": {TYPE: value | [values]}}`.
 *
 * NAME is the name of a block, in any form that references accept, or its id. A value may be `{"$error": {code?,
 * message, retryable?}}`. Throws OPTIONS_INVALID, with a list of all issues and their paths.
 */
export function parseMocks(json: Json): Mocks {
  if (json === null) return NO_MOCKS;
  const parsed = MocksSchema.safeParse(json);
  if (!parsed.success) throw invalidMocksError(parsed.error);
  const blocks = Object.entries(parsed.data.blocks ?? {});
  const valuesByExactName = new Map(blocks.map(([name, value]) => [name, toValueList(value)]));
  const valuesByName = new Map(blocks.map(([name, value]) => [normalizeName(name), toValueList(value)]));
  const valuesByType = new Map(
    Object.entries(parsed.data.types ?? {}).map(([type, value]) => [type, toValueList(value)]),
  );
  return {
    json,
    valuesFor: ({ id, name, type }) =>
      valuesByExactName.get(id) ?? valuesByName.get(normalizeName(name)) ?? valuesByType.get(type),
    unusedNames: (planBlocks) => {
      const names = new Set(planBlocks.flatMap(({ id, name }) => [id, normalizeName(name)]));
      return [...valuesByExactName.keys()].filter(
        (name) => !names.has(name) && !names.has(normalizeName(name)),
      );
    },
  };
}

/** Returns the values of a mock in order. A mock that is not a list is a single value. */
function toValueList(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value];
}

function checkValue(value: Json, context: z.RefinementCtx<Json>): void {
  if (Array.isArray(value) && value.length === 0) {
    context.addIssue({ code: 'custom', message: 'is an empty list: give at least one value' });
  }
  toValueList(value).forEach((item, index) => {
    const prefix = Array.isArray(value) ? [index] : [];
    for (const issue of issuesOf(item))
      context.addIssue({ code: 'custom', message: issue.message, path: [...prefix, ...issue.path] });
  });
}

function issuesOf(value: Json): { message: string; path: (string | number)[] }[] {
  if (Array.isArray(value))
    return [{ message: 'is a list inside the list of values: an output is an object', path: [] }];
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '$error')) return [];
  const parsed = MockFailure.safeParse(value);
  return parsed.success
    ? []
    : parsed.error.issues.map(({ message, path }) => ({
        message,
        path: path.map((key) => (typeof key === 'symbol' ? String(key) : key)),
      }));
}

function invalidMocksError(error: z.ZodError): EngineError {
  const issues = error.issues.map((issue) => ({
    path: issue.path.map(String).join('.') || '(all)',
    message: issue.message,
  }));
  return new EngineError(
    'OPTIONS_INVALID',
    `The mocks are invalid: ${issues.map(({ path, message }) => `${path}: ${message}`).join('; ')}. ` +
      'Their form is {"blocks": {NAME: value}, "types": {TYPE: [values]}}.',
    { details: { issues } },
  );
}
