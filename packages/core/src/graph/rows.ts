import { isJsonObject, getOwn } from '../json.ts';
import type { Json } from '../json.ts';
import { readJsonText } from '../schema/read-json-text.ts';
import type { Block } from '../schema/workflow.ts';

/** The parts of a block from which its rows are read. */
export type RowBlock = Pick<Block, 'id' | 'type' | 'fields'>;

/** A row of a condition, or a route of a router. */
export interface Row {
  id: string;
  title: string;
  value: string;
}

/**
 * Returns the rows of a condition block in the order in which they are tested, or a `fault` if they cannot be read. An
 * absent list has no rows.
 */
export function conditionRows(block: RowBlock): { rows: Row[]; fault?: string } {
  return readRows(getOwn(block.fields, 'conditions'), (title, index) => {
    if (isElseTitle(title)) return `${block.id}-else`;
    return index === 0 ? `${block.id}-if` : `${block.id}-else-if-${index}`;
  });
}

/** Returns the routes of a router block. */
export function routerRows(block: RowBlock): { rows: Row[]; fault?: string } {
  return readRows(getOwn(block.fields, 'routes'), (_, index) => `${block.id}-route${index + 1}`);
}

/** Returns true for the title of a fallback row. */
export function isElseTitle(title: string): boolean {
  return title.trim().toLowerCase() === 'else';
}

function readRows(
  field: Json | undefined,
  defaultIdOf: (title: string, index: number) => string,
): { rows: Row[]; fault?: string } {
  if (field == null || field === '') return { rows: [] };
  const { value, fault } =
    typeof field === 'string' ? readJsonText(field) : { value: field, fault: undefined };
  if (fault !== undefined) return { rows: [], fault };
  if (!Array.isArray(value)) return { rows: [], fault: 'It is not a list of rows.' };
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
