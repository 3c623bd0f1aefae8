import {
  BlockError,
  bindExpression,
  isJsonObject,
  resolveReference,
  resolveTemplate,
} from '@heddle/core/blocks';
import type {
  CollectionSource,
  ContainerConfig,
  CountSource,
  ExpressionTemplate,
  Json,
  Lookup,
} from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import { describeFailure } from './code-failure.ts';
import type { CodeSandbox } from './services.ts';

/** The parameters for expanding a container. */
export interface ExpansionContext {
  runId: string;
  /** The data that the container can read; for conditions, including its own index. */
  lookup: Lookup;
  sandbox(): Promise<CodeSandbox>;
  signal: AbortSignal;
}

/** The result of expanding a container. */
export interface Expansion {
  /** Number of iterations or branches; for a condition, 1 if there is another iteration, else 0. */
  count: number;
  /** For collections: the item of each iteration or branch. */
  items?: Json[];
}

/** Evaluates the count, collection or condition of a container. */
export async function expandContainer(
  config: ContainerConfig,
  context: ExpansionContext,
): Promise<Expansion> {
  switch (config.kind) {
    case 'for':
    case 'parallelCount':
      return { count: await expandCount(config.count, context) };
    case 'forEach':
    case 'parallelCollection': {
      const items = expandCollection(config.collection, context.lookup);
      return { count: items.length, items };
    }
    case 'while':
    case 'doWhile':
      return { count: (await evaluateCondition(config.condition, context)) ? 1 : 0 };
  }
}

/**
 * Returns the count of a container. Its expression must result in a whole number of at least 1, as a number or as text.
 * Throws COUNT_INVALID, EXPRESSION_FAILED.
 */
export async function expandCount(source: CountSource, context: ExpansionContext): Promise<number> {
  if ('static' in source) return source.static;
  const value = await evaluateValue(source.expression, context);
  const count = typeof value === 'string' && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 1) return count;
  throw new BlockError(
    'COUNT_INVALID',
    `The count \`${source.expression.authored}\` is ${excerpt(value)}; it must be a whole number of at least 1.`,
  );
}

/**
 * Returns the items of a collection: the items of a list, the pairs of an object, or none for null. Throws
 * COLLECTION_INVALID.
 */
export function expandCollection(source: CollectionSource, lookup: Lookup): Json[] {
  if ('static' in source) return source.static;
  if ('invalid' in source) throw new BlockError('COLLECTION_INVALID', source.invalid, { retryable: false });
  if ('reference' in source)
    return itemsOf(resolveReference(source.reference, lookup) ?? null, source.reference.text);
  return itemsOf(resolveTemplate(source.template, lookup, 'native'), 'the collection');
}

function itemsOf(value: Json, label: string): Json[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value;
  if (isJsonObject(value)) return Object.entries(value);
  const hint =
    typeof value === 'string' && Array.isArray(parseJson(value))
      ? ' Parse JSON text first, for example in a function block.'
      : '';
  throw new BlockError(
    'COLLECTION_INVALID',
    `A container cannot iterate over ${label}: it is ${excerpt(value)}, not a list or an object.${hint}`,
  );
}

/** True if a while or doWhile loop has another iteration; false without a condition. Throws EXPRESSION_FAILED. */
export async function evaluateCondition(
  expression: ExpressionTemplate | null,
  context: ExpansionContext,
): Promise<boolean> {
  if (expression === null || expression.code === '') return false;
  return (await evaluate(expression, context, 'first-true')).index === 0;
}

/** Evaluates an expression. A single reference needs no sandbox. */
async function evaluateValue(expression: ExpressionTemplate, context: ExpansionContext): Promise<Json> {
  const boundExpression = bindExpression(expression, context.lookup);
  const identifier = boundExpression.code.trim();
  const boundJson = Object.hasOwn(boundExpression.values, identifier)
    ? boundExpression.values[identifier]
    : undefined;
  if (boundJson !== undefined) return parseJson(boundJson) ?? null;
  return parseJson((await evaluate(expression, context, 'values')).json[0] ?? 'null') ?? null;
}

async function evaluate(
  expression: ExpressionTemplate,
  context: ExpansionContext,
  mode: 'first-true' | 'values',
): Promise<{ index: number; json: string[] }> {
  const boundExpression = bindExpression(expression, context.lookup);
  const sandbox = await context.sandbox();
  const outcome = await sandbox.evaluate({
    runId: context.runId,
    mode,
    expressions: [boundExpression],
    signal: context.signal,
  });
  if (outcome.ok) return outcome;
  throw new BlockError(
    outcome.error.code === 'CANCELLED' ? 'CANCELLED' : 'EXPRESSION_FAILED',
    `The expression \`${expression.authored.trim()}\` failed: ${describeFailure(outcome.error, expression.authored)}`,
    { details: { reason: outcome.error.code } },
  );
}

function excerpt(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
