import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';

/** The values of a page's last row in the columns that the list is sorted by; the last of them is unique. */
type Position = readonly (string | number)[];

/** Returns the text with the wildcards of `like ... escape '\'` escaped. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

/** The column contains the text, in any case of the letters a to z. */
export function contains(column: string, text: string): RawBuilder<boolean> {
  return sql<boolean>`lower(${sql.ref(column)}) like lower(${`%${escapeLike(text)}%`}) escape '\\'`;
}

/** The rows after a position in a list that is sorted by all `columns` in the same order. */
export function isAfter(
  columns: readonly string[],
  position: Position,
  order: 'asc' | 'desc',
): RawBuilder<boolean> {
  const names = sql.join(columns.map((name) => sql.ref(name)));
  const values = sql.join(position.map((value) => sql`${value}`));
  return sql<boolean>`(${names}) ${sql.raw(order === 'asc' ? '>' : '<')} (${values})`;
}

/** Returns the page in `found`, which has a row more than `limit` if more follow, and then the position of its last row. */
export function pageOf<Row, At>(
  found: readonly Row[],
  limit: number,
  positionOf: (row: Row) => At,
): { rows: Row[]; next: At | undefined } {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, next: last && positionOf(last) };
}
