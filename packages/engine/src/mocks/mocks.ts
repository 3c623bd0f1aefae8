import { EngineError, normalizeName } from '@heddle/core/blocks';
import type { BlockConfig, Json } from '@heddle/core/blocks';
import * as z from 'zod';

/** A failure in place of an output. */
const MockFailure = z.strictObject({
  $error: z.strictObject({
    code: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]*$/, 'must be upper case with underscores')
      .optional(),
    message: z.string(),
    retryable: z.boolean().optional(),
  }),
});

const MockTable = z.record(z.string(), z.json().superRefine(checkValue));

const MocksSchema = z.strictObject({ blocks: MockTable.optional(), types: MockTable.optional() });

/** One scripted value: an output, a scalar that stands for one, or a failure. */
export type MockValue = Json;

/** Scripted values in place of blocks. */
export interface Mocks {
  /** The values for the block in turn, or undefined when it is not mocked. A mock of the block wins over one of its type. */
  valuesFor(block: Pick<BlockConfig, 'id' | 'name' | 'type'>): readonly MockValue[] | undefined;
  /** As parsed, for the record of the run. */
  readonly json: Json;
  /** Names in `blocks` that none of the blocks has. */
  unusedNames(blocks: readonly Pick<BlockConfig, 'id' | 'name'>[]): string[];
}

/** Nothing is mocked. */
export const NO_MOCKS: Mocks = { valuesFor: () => undefined, json: null, unusedNames: () => [] };

/**
 * The mocks of a run: `{"blocks": {NAME: value | [values in turn]}, "types": {TYPE: value | [values in turn]}}`.
 *
 * NAME is a block's name, written as in references, or its id. A value may be `{"$error": {code?, message, retryable?}}`.
 * Throws OPTIONS_INVALID that lists every fault with its path.
 */
export function parseMocks(json: Json): Mocks {
  if (json === null) return NO_MOCKS;
  const parsed = MocksSchema.safeParse(json);
  if (!parsed.success) throw invalid(parsed.error);
  const blocks = Object.entries(parsed.data.blocks ?? {});
  const byKey = new Map(blocks.map(([name, value]) => [name, turnsOf(value)]));
  const byName = new Map(blocks.map(([name, value]) => [normalizeName(name), turnsOf(value)]));
  const byType = new Map(
    Object.entries(parsed.data.types ?? {}).map(([type, value]) => [type, turnsOf(value)]),
  );
  return {
    json,
    valuesFor: ({ id, name, type }) => byKey.get(id) ?? byName.get(normalizeName(name)) ?? byType.get(type),
    unusedNames: (present) => {
      const known = new Set(present.flatMap(({ id, name }) => [id, normalizeName(name)]));
      return [...byKey.keys()].filter((name) => !known.has(name) && !known.has(normalizeName(name)));
    },
  };
}

/** A list is values in turn, so an output is never a list itself. */
function turnsOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value];
}

function checkValue(value: Json, context: z.RefinementCtx<Json>): void {
  if (Array.isArray(value) && value.length === 0) {
    context.addIssue({ code: 'custom', message: 'is an empty list: give at least one value' });
  }
  turnsOf(value).forEach((turn, index) => {
    const at = Array.isArray(value) ? [index] : [];
    for (const issue of faultsOf(turn))
      context.addIssue({ code: 'custom', message: issue.message, path: [...at, ...issue.path] });
  });
}

function faultsOf(value: Json): { message: string; path: (string | number)[] }[] {
  if (Array.isArray(value))
    return [{ message: 'is a list inside the list of turns: an output is an object', path: [] }];
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '$error')) return [];
  const parsed = MockFailure.safeParse(value);
  return parsed.success
    ? []
    : parsed.error.issues.map(({ message, path }) => ({
        message,
        path: path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
      }));
}

function invalid(error: z.ZodError): EngineError {
  const issues = error.issues.map((issue) => ({
    path: issue.path.map(String).join('.') || '(all)',
    message: issue.message,
  }));
  return new EngineError(
    'OPTIONS_INVALID',
    `The mocks are not valid: ${issues.map(({ path, message }) => `${path}: ${message}`).join('; ')}. ` +
      'They look like {"blocks": {NAME: value}, "types": {TYPE: [values in turn]}}.',
    { details: { issues } },
  );
}
