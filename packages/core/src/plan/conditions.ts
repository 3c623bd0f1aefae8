import { conditionRows, isElseTitle } from '../graph/rows.ts';
import type { Row } from '../graph/rows.ts';
import { compileExpression } from '../refs/code.ts';
import { referencesIn } from '../refs/template.ts';
import type { Block } from '../schema/workflow.ts';
import { diagnostic } from './diagnostics.ts';
import type { Compilation } from './compilation.ts';
import type { ConditionRow } from './plan.ts';
import { fieldLocation } from './field-location.ts';
import { checkExpression } from './syntax.ts';

/**
 * Returns the compiled rows of a condition block; undefined if they cannot be read, which fails the block when it is
 * reached.
 */
export function readConditions(compilation: Compilation, block: Block): ConditionRow[] | undefined {
  const location = fieldLocation(block, 'conditions');
  const { rows, problem } = conditionRows(block);
  if (problem !== undefined) {
    compilation.sink.push(
      diagnostic('CONDITIONS_UNREADABLE', {
        blockId: block.id,
        path: location.path,
        message: `The rows of "${block.name}" cannot be read: ${problem}`,
        hint: 'Use a JSON array of {id, title, value}.',
      }),
    );
    return undefined;
  }
  reportUnusableRows(compilation, block, rows);
  return rows.map(({ id, title, value }, index): ConditionRow => {
    if (isElseTitle(title)) return { id, otherwise: true, title };
    if (value.trim() === '') return { id, otherwise: false, title };
    const { expression, findings } = compileExpression(value, compilation.context(location), 'condition');
    compilation.report(location, findings, 'expression');
    const rowLocation = { block, path: [...location.path, index] };
    checkExpression(compilation, rowLocation, { expression, findings, subject: `The condition "${title}"` });
    compilation.addReferences(location, referencesIn(expression));
    return { expression, id, otherwise: false, title };
  });
}

/** Reports rows that are never chosen: after an else row, with the id of an earlier row, or empty. */
function reportUnusableRows(compilation: Compilation, block: Block, rows: readonly Row[]): void {
  const ids = new Set<string>();
  let isAfterElse = false;
  rows.forEach((row, index) => {
    const reason = unusableReason(row, { isAfterElse, isDuplicateId: ids.has(row.id) });
    ids.add(row.id);
    isAfterElse ||= isElseTitle(row.title);
    if (reason === undefined) return;
    compilation.sink.push(
      diagnostic('CONDITION_ROW', {
        blockId: block.id,
        path: [...fieldLocation(block, 'conditions').path, index],
        message: `Row ${index + 1} ("${row.title}") of "${block.name}" can never be chosen: ${reason}.`,
        hint: 'Correct or remove the row.',
      }),
    );
  });
}

function unusableReason(
  row: Row,
  { isAfterElse, isDuplicateId }: { isAfterElse: boolean; isDuplicateId: boolean },
): string | undefined {
  if (isAfterElse) return 'it follows the else row';
  if (isDuplicateId) return `an earlier row has the id "${row.id}"`;
  return isElseTitle(row.title) || row.value.trim() !== '' ? undefined : 'it is empty, which counts as false';
}
