import { pageOf } from '../paging.ts';

/** The sorted value and the id of a page's last item. */
export type CatalogPosition = readonly [value: string, id: string];

export interface PageQuery {
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: CatalogPosition | undefined;
}

/** Returns a page of the items, sorted by position, and the position of its last item if more follow. */
export function pageOfItems<Item>(
  items: readonly Item[],
  { sortOrder, limit, afterPosition }: PageQuery,
  positionOf: (item: Item) => CatalogPosition,
): { page: Item[]; next: CatalogPosition | undefined } {
  const sign = sortOrder === 'asc' ? 1 : -1;
  const sortedItems = items
    .filter((item) => afterPosition === undefined || compare(positionOf(item), afterPosition) * sign > 0)
    .toSorted((a, b) => compare(positionOf(a), positionOf(b)) * sign);
  const { rows: page, next } = pageOf(sortedItems, limit, positionOf);
  return { page, next };
}

/** Returns whether one of the strings contains the search text, ignoring case; true without a search text. */
export function matchesSearch(search: string | undefined, values: readonly string[]): boolean {
  if (search === undefined) return true;
  const lowerSearch = search.toLowerCase();
  return values.some((value) => value.toLowerCase().includes(lowerSearch));
}

function compare(a: CatalogPosition, b: CatalogPosition): number {
  return compareStrings(a[0], b[0]) || compareStrings(a[1], b[1]);
}

function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
