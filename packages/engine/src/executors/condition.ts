import { BlockError, bindExpression, isBlockError } from '@heddle/core/blocks';
import type { BlockError as Failure, BlockResult, ConditionRow, Json, JsonObject } from '@heddle/core/blocks';
import { authoredValue } from '@heddle/core/fields';
import { describeFailure } from './code-failure.ts';
import type { EngineContext, EngineExecutor } from './services.ts';
import { asText } from './values.ts';

/** Fields of the source's output that are not passed on. */
const OMITTED_FIELDS: ReadonlySet<string> = new Set([
  'error',
  'model',
  'tokens',
  'cost',
  'toolCalls',
  'providerTiming',
  '_pauseMetadata',
]);

/** Selects the port of the first row whose condition is true. Evaluates all rows in one call to the sandbox. */
export const conditionExecutor: EngineExecutor = {
  types: ['condition'],
  class: 'compute',
  execute: (context) => decide(context),
};

async function decide(context: EngineContext): Promise<BlockResult> {
  const rows = rowsOf(context);
  const sourceOutput = context.sourceOutput();
  const row = await firstTrueRow(context, rows, sourceOutput);
  const passedFields = Object.fromEntries(
    Object.entries(sourceOutput).filter(([key]) => !OMITTED_FIELDS.has(key)),
  );
  if (row === undefined)
    return { output: { ...passedFields, conditionResult: false, selectedPath: null, selectedOption: null } };
  const port = `condition-${row.id}`;
  return {
    output: {
      ...passedFields,
      conditionResult: true,
      selectedPath: pathOf(context, port),
      selectedOption: row.id,
    },
    port,
  };
}

function rowsOf({ block }: EngineContext): readonly ConditionRow[] {
  if (block.conditions !== undefined) return block.conditions;
  const conditions = authoredValue(block.params['conditions']) ?? '';
  if (asText(conditions).trim() === '') return [];
  throw new BlockError(
    'CONDITION_INVALID',
    `The conditions are not a list of rows${jsonErrorSuffix(conditions)}.`,
    {
      retryable: false,
    },
  );
}

function jsonErrorSuffix(conditions: Json): string {
  if (typeof conditions !== 'string') return '';
  try {
    JSON.parse(conditions);
    return '';
  } catch (error) {
    return `: ${error instanceof Error ? error.message : String(error)}`;
  }
}

interface BoundRow {
  row: ConditionRow;
  code: string;
  values: Record<string, string>;
}

/** Returns the first true row, else the `otherwise` row. Rows after the `otherwise` row are ignored. */
async function firstTrueRow(
  context: EngineContext,
  rows: readonly ConditionRow[],
  sourceOutput: JsonObject,
): Promise<ConditionRow | undefined> {
  const otherwiseIndex = rows.findIndex((row) => row.otherwise);
  const testedRows = otherwiseIndex === -1 ? rows : rows.slice(0, otherwiseIndex);
  const { boundRows, failure } = bindRows(context, testedRows);
  const index = boundRows.length === 0 ? -1 : await firstTrueIndex(context, boundRows, sourceOutput);
  if (index >= 0) return boundRows[index]?.row;
  if (failure !== undefined) throw failure;
  return otherwiseIndex === -1 ? undefined : rows[otherwiseIndex];
}

/**
 * Binds the rows up to the first one with an unresolvable reference, which fails the block only if no earlier row is
 * true.
 */
function bindRows(
  context: EngineContext,
  rows: readonly ConditionRow[],
): { boundRows: BoundRow[]; failure?: Failure } {
  const boundRows: BoundRow[] = [];
  for (const row of rows) {
    if (row.expression === undefined || row.expression.code === '') continue;
    try {
      boundRows.push({ row, ...bindExpression(row.expression, context.services.lookup) });
    } catch (error) {
      if (!isBlockError(error)) throw error;
      return { boundRows, failure: withTitle(row, error) };
    }
  }
  return { boundRows };
}

function withTitle(row: ConditionRow, error: Failure): Failure {
  return new BlockError(error.code, `Condition "${row.title}": ${error.message}`, {
    retryable: error.retryable,
    ...(error.details === undefined ? {} : { details: error.details }),
    cause: error,
  });
}

/** Returns the index of the first true row, negative if there is none. Throws CANCELLED, EXPRESSION_FAILED. */
async function firstTrueIndex(
  context: EngineContext,
  boundRows: readonly BoundRow[],
  sourceOutput: JsonObject,
): Promise<number> {
  const sandbox = await context.services.sandbox();
  const usesContext = boundRows.some(({ row }) => /\bcontext\b/.test(row.expression?.authored ?? ''));
  const outcome = await sandbox.evaluate({
    runId: context.runId,
    mode: 'first-true',
    expressions: boundRows.map(({ code, values }) => ({ code, values })),
    globals: usesContext ? { context: JSON.stringify(sourceOutput) } : {},
    signal: context.signal,
  });
  if (outcome.ok) return outcome.index;
  const row = boundRows[outcome.index]?.row;
  const text = describeFailure(outcome.error, row?.expression?.authored ?? '');
  throw new BlockError(
    outcome.error.code === 'CANCELLED' ? 'CANCELLED' : 'EXPRESSION_FAILED',
    row === undefined
      ? `The conditions could not be evaluated: ${text}`
      : `Condition "${row.title}" failed: ${text}`,
    { details: { reason: outcome.error.code, ...(row === undefined ? {} : { branch: row.id }) } },
  );
}

function pathOf({ services }: EngineContext, port: string): JsonObject | null {
  const blockId = services.target(port);
  if (blockId === undefined) return null;
  const { name, type } = services.lookup.describe(blockId);
  return { blockId, blockType: type, blockTitle: name };
}
