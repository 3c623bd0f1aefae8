import { isJsonObject, getOwn } from '../json.ts';
import type { Json } from '../json.ts';
import { readJsonText } from '../schema/read-json-text.ts';
import type { Block } from '../schema/workflow.ts';

/** The parts of a block from which its rows are read. */
export type BlockWithFields = Pick<Block, 'id' | 'type' | 'fields'>;

/** A row of a condition, or a route of a router. */
export interface Row {
  id: string;
  title: string;
  value: string;
}

/**
 * Returns the rows of a condition block in the order in which they are tested, or a `problem` if they cannot be read.
 * An absent list has no rows.
 */
export function conditionRows(block: BlockWithFields): { rows: Row[]; problem?: string } {
  return readRows(getOwn(block.fields, 'conditions'), (title, index) => {
    if (isElseTitle(title)) return `${block.id}-else`;
    return index === 0 ? `${block.id}-if` : `${block.id}-else-if-${index}`;
  });
}

/** Returns the routes of a router block. */
export function routerRows(block: BlockWithFields): { rows: Row[]; problem?: string } {
  return readRows(getOwn(block.fields, 'routes'), (_, index) => `${block.id}-route${index + 1}`);
}

/** Returns true for the title of a fallback row. */
export function isElseTitle(title: string): boolean {
  return title.trim().toLowerCase() === 'else';
}

function readRows(
  field: Json | undefined,
  defaultIdOf: (title: string, index: number) => string,
): { rows: Row[]; problem?: string } {
  if (field == null || field === '') return { rows: [] };
  const { value, problem } =
    typeof field === 'string' ? readJsonText(field) : { value: field, problem: undefined };
  if (problem !== undefined) return { rows: [], problem };
  if (!Array.isArray(value)) return { rows: [], problem: 'It is not a list of rows.' };
  const rows = value.filter(isJsonObject).map((row, index) => {
    const title = textOf(getOwn(row, 'title'));
    const id = getOwn(row, 'id');
    return {
      id: typeof id === 'string' && id !== '' ? id : defaultIdOf(title, index),
      title,
      value: textOf(getOwn(row, 'value')),
    };
  });
  return { rows };
}

function textOf(value: Json | undefined): string {
  if (value == null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
