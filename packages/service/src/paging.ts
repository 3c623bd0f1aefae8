import { sql } from 'kysely';
import type { RawBuilder, SelectQueryBuilder } from 'kysely';

/** The values of a page's last row in the columns that the list is sorted by; the last of them is unique. */
type Position = readonly (string | number)[];

/** Returns the string with the wildcards of `like ... escape '\'` escaped. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

/** Returns the condition that the column contains the string. It ignores the case of the letters a to z. */
export function containsCondition(column: string, text: string): RawBuilder<boolean> {
  return sql<boolean>`lower(${sql.ref(column)}) like lower(${`%${escapeLike(text)}%`}) escape '\\'`;
}

/** Returns the condition for the rows after a position in a list that is sorted by all `columns` in the same order. */
export function afterCondition(
  columns: readonly string[],
  position: Position,
  order: 'asc' | 'desc',
): RawBuilder<boolean> {
  const names = sql.join(columns.map((name) => sql.ref(name)));
  const values = sql.join(position.map((value) => sql`${value}`));
  return sql<boolean>`(${names}) ${sql.raw(order === 'asc' ? '>' : '<')} (${values})`;
}

/**
 * Returns a page of the selected rows, sorted by all `columns`, and the position of its last row if more follow. The
 * last column must be unique.
 */
export async function readPage<DB, TB extends keyof DB, Row, PagePosition extends Position>(
  selectQuery: SelectQueryBuilder<DB, TB, Row>,
  columns: readonly string[],
  {
    afterPosition,
    sortOrder,
    limit,
  }: { afterPosition?: PagePosition | undefined; sortOrder: 'asc' | 'desc'; limit: number },
  positionOf: (row: Row) => PagePosition,
): Promise<{ rows: Row[]; next: PagePosition | undefined }> {
  let query = afterPosition
    ? selectQuery.where(afterCondition(columns, afterPosition, sortOrder))
    : selectQuery;
  for (const column of columns) query = query.orderBy(sql.ref(column), sortOrder);
  const fetchedRows = (await query.limit(limit + 1).execute()) as Row[];
  return pageOf(fetchedRows, limit, positionOf);
}

/** Returns the first `limit` of the fetched rows, and the position of the last of them if more rows were fetched. */
export function pageOf<Row, PagePosition>(
  fetchedRows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => PagePosition,
): { rows: Row[]; next: PagePosition | undefined } {
  const rows = fetchedRows.slice(0, limit);
  const lastRow = fetchedRows.length > limit ? rows.at(-1) : undefined;
  return { rows, next: lastRow && positionOf(lastRow) };
}
